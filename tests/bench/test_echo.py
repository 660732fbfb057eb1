"""The echo server."""

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import calls_per_second, raw_call


def test_echo_answers_with_the_given_bytes(tmp_path):
    """Every call gets the prepared answer, one at a time or side by side."""
    file = tmp_path / "answer.bin"
    file.write_bytes(b"prepared")
    with echo_process(file) as echo:
        call, close = raw_call(echo.address, METHOD, [b"anything"])
        assert call(0) == b"prepared"
        close()
        assert calls_per_second(echo.address, METHOD, [b""], 2, 0.2) > 0
