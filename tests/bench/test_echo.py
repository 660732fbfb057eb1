"""The echo server."""

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import calls_per_second, recall_call
from recalld.v1.recall_service_pb2 import RecallRequest, RecallResponse


def test_echo_answers_with_the_given_bytes(tmp_path):
    """Every call gets the prepared answer, one at a time or side by side."""
    file = tmp_path / "answer.bin"
    file.write_bytes(RecallResponse(recall_id="r1", revision=7).SerializeToString())
    with echo_process(file) as echo:
        call, close = recall_call(echo.address, METHOD, [RecallRequest(text="anything")])
        assert call(0).revision == 7
        close()
        assert calls_per_second(echo.address, METHOD, [RecallRequest()], 2, 0.2) > 0
