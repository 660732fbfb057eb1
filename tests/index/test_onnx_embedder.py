"""The ONNX embedder on folders made here, and on the default model where it is built."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from recalld.index.background_texts import UNRELATED_MEMORIES, UNRELATED_REQUESTS
from recalld.index.embedder import (
    Embedder,
    default_model_dir,
)
from recalld.index.errors import BadVector, ModelInvalid
from recalld.index.onnx_embedder import (
    RUN_TEXTS_MAX,
    RUN_TOKENS_MAX,
    OnnxEmbedder,
    _plan_runs,
)
from tests.conformance.embedder_contract import EmbedderContract
from tests.index.tiny_model import write_folder, write_json, write_model, write_tokenizer

MODEL_DIR = Path(os.environ.get("RECALLD_MODEL_DIR") or default_model_dir(os.environ))


@pytest.fixture(scope="module")
def real_model() -> OnnxEmbedder:
    if not (MODEL_DIR / "embedder.json").is_file():
        pytest.skip("the default model is not built; run `make model`")
    return OnnxEmbedder(MODEL_DIR)


@pytest.mark.model
class TestDefaultModel(EmbedderContract):
    """The contract on the default model; int8 activations see their batch, hence the tolerance."""

    batch_cosine_min = 0.995
    role_changes_vectors = True

    @pytest.fixture
    def embedder(self, real_model: OnnxEmbedder) -> Embedder:
        return real_model

    def test_reworded_question_finds_its_memory(self, embedder: Embedder) -> None:
        """A reworded question is nearest to its memory, in Chinese and in English."""
        memories = [
            "用户住在杭州，周末常去西湖边跑步",
            "The user's sister is getting married in June",
            "公司的年会安排在十二月中旬",
            "Prefers a window seat on long flights",
        ]
        questions = [
            "我在哪个城市生活？",
            "When is the wedding?",
            "年终聚会是什么时候",
            "Where do I like to sit on a plane?",
        ]
        scores = (
            embedder.embed(questions, is_query=True) @ embedder.embed(memories, is_query=False).T
        )
        assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_mean_pooling_leaves_padding_out(tmp_path: Path) -> None:
    """A text's vector is the direction of the mean of its own tokens, whatever it is padded to."""
    embedder = OnnxEmbedder(write_folder(tmp_path))
    vectors = embedder.embed(["red green", "blue", "red red red green"], is_query=False)
    expected = [[1, 1, 0, 0], [0, 0, 1, 0], [3, 1, 0, 0]]
    np.testing.assert_allclose(
        vectors, [np.array(row) / np.linalg.norm(row) for row in expected], atol=1e-6
    )
    assert embedder.dim == 4
    assert (embedder.calibration.mean, embedder.calibration.spread) == (0.25, 0.125)


def test_cls_pooling_takes_the_first_token(tmp_path: Path) -> None:
    """With cls pooling a text's vector is that of its first token."""
    write_json(tmp_path / "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    embedder = OnnxEmbedder(write_folder(tmp_path))
    np.testing.assert_allclose(embedder.embed(["green red"], is_query=False), [[0, 1, 0, 0]])


def test_prompts_of_a_foreign_folder(tmp_path: Path) -> None:
    """Prompts for queries and documents go before requests and memories."""
    write_json(
        tmp_path / "config_sentence_transformers.json",
        {"prompts": {"query": "ask ", "document": "blue "}},
    )
    embedder = OnnxEmbedder(write_folder(tmp_path))
    half = 0.5**0.5
    np.testing.assert_allclose(
        embedder.embed(["red"], is_query=True), [[half, 0, 0, half]], atol=1e-6
    )
    np.testing.assert_allclose(
        embedder.embed(["red"], is_query=False), [[half, 0, half, 0]], atol=1e-6
    )


def test_foreign_folder_without_calibration_is_measured(tmp_path: Path) -> None:
    """Where the folder states no calibration it is measured over the built-in texts."""
    letters = ("<pad>", "<unk>", *"abcdefghijklmnopqrstuvwxyz")
    table = np.random.default_rng(1).normal(size=(len(letters), 4)).astype(np.float32)
    write_model(tmp_path / "onnx/model.onnx", table=table)
    write_tokenizer(tmp_path / "tokenizer.json", letters, split="letters")
    write_json(tmp_path / "sentence_bert_config.json", {"max_seq_length": 100})

    def by_hand(text: str) -> np.ndarray:
        ids = [letters.index(c) if c in letters else 1 for c in text][:100]
        mean = table[ids].astype(np.float64).mean(axis=0)
        return mean / np.linalg.norm(mean)

    cosines = [by_hand(a) @ by_hand(b) for a in UNRELATED_REQUESTS for b in UNRELATED_MEMORIES]
    calibration = OnnxEmbedder(tmp_path).calibration
    assert calibration.mean == pytest.approx(float(np.mean(cosines)), abs=1e-4)
    assert calibration.spread == pytest.approx(float(np.std(cosines)), abs=1e-4)


def test_long_text_is_cut_and_still_counted(tmp_path: Path) -> None:
    """Tokens beyond the limit do not count for the vector, but do for `count_tokens`."""
    embedder = OnnxEmbedder(write_folder(tmp_path, max_tokens=8))
    text = "red " * 8 + "blue " * 30
    np.testing.assert_allclose(embedder.embed([text], is_query=False), [[1, 0, 0, 0]])
    assert embedder.count_tokens(text) == 38
    assert embedder.count_tokens("") == 0


@pytest.mark.parametrize("id_type", [TensorProto.INT64, TensorProto.INT32])
def test_optional_inputs_and_integer_widths(tmp_path: Path, id_type: int) -> None:
    """Token types are supplied where the graph wants them, in the integer type it wants."""
    folder = write_folder(tmp_path)
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    write_model(folder / "model.onnx", inputs=inputs, id_type=id_type)
    np.testing.assert_allclose(OnnxEmbedder(folder).embed(["blue"], is_query=True), [[0, 0, 1, 0]])


def test_nan_from_the_model_is_an_error(tmp_path: Path) -> None:
    """A vector with NaN is refused, and the other texts can still be embedded."""
    embedder = OnnxEmbedder(write_folder(tmp_path))
    with pytest.raises(BadVector):
        embedder.embed(["red", "bad red"], is_query=False)
    assert embedder.embed(["red"], is_query=False).shape == (1, 4)


def test_failing_model_is_an_error(tmp_path: Path) -> None:
    """A graph that fails on an input, here on an id beyond its table, is a broken model."""
    folder = write_folder(tmp_path)
    write_tokenizer(folder / "tokenizer.json", ("<pad>", "<unk>", *"abcdef", "beyond"))
    embedder = OnnxEmbedder(folder)
    with pytest.raises(ModelInvalid, match="fails"):
        embedder.embed(["beyond"], is_query=True)


def test_text_without_tokens_is_an_error(tmp_path: Path) -> None:
    """A model without prefix and special tokens has no vector for the empty text."""
    with pytest.raises(BadVector):
        OnnxEmbedder(write_folder(tmp_path)).embed([""], is_query=False)


def test_rows_follow_the_texts_over_many_runs(tmp_path: Path) -> None:
    """Rows are in the order of the texts though runs are made by length."""
    embedder = OnnxEmbedder(write_folder(tmp_path))
    colours = ["red", "green", "blue"]
    texts = [" ".join([colours[i % 3]] * (1 + i * 7 % 13)) for i in range(100)]
    vectors = embedder.embed(texts, is_query=False)
    assert vectors.argmax(axis=1).tolist() == [i % 3 for i in range(100)]


@given(st.lists(st.integers(0, 700), max_size=200))
def test_runs_are_bounded_and_complete(counts: list[int]) -> None:
    """Runs hold every row once, at most 32 texts, and at most 512 padded tokens unless alone."""
    runs = list(_plan_runs(counts))
    assert sorted(row for rows in runs for row in rows) == list(range(len(counts)))
    for rows in runs:
        assert 1 <= len(rows) <= RUN_TEXTS_MAX
        padded = len(rows) * max(counts[row] for row in rows)
        assert padded <= RUN_TOKENS_MAX or len(rows) == 1


def test_threads_share_one_embedder(tmp_path: Path) -> None:
    """Calls from several threads at once give the answers of single calls."""
    embedder = OnnxEmbedder(write_folder(tmp_path))
    texts = [" ".join(["red"] * i + ["blue"]) for i in range(1, 30)]
    expected = [embedder.embed([text], is_query=False) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda text: embedder.embed([text], is_query=False), texts * 4))
    for i, vector in enumerate(got):
        np.testing.assert_allclose(vector, expected[i % len(texts)], atol=1e-6)


def test_unknown_graph_is_refused(tmp_path: Path) -> None:
    """A graph with an input that we cannot supply, or that is no graph, is refused by name."""
    folder = write_folder(tmp_path)
    write_model(folder / "model.onnx", inputs=("input_ids", "pixel_values"))
    with pytest.raises(ModelInvalid, match="pixel_values"):
        OnnxEmbedder(folder)
    (folder / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelInvalid, match="does not load"):
        OnnxEmbedder(folder)
    write_model(folder / "model.onnx")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelInvalid, match="tokenizer"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize("threads", [0, -1, 65])
def test_thread_count_is_bounded(tmp_path: Path, threads: int) -> None:
    """A thread count out of range is refused before anything is loaded."""
    with pytest.raises(ValueError, match="threads"):
        OnnxEmbedder(tmp_path, threads=threads)


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """Loading a model starts no reporting thread and leaves nothing in home or cache folder."""
    folder, home = write_folder(tmp_path / "model"), tmp_path / "home"
    home.mkdir()
    code = (
        "import os, sys; from pathlib import Path\n"
        "from recalld.index.onnx_embedder import OnnxEmbedder\n"
        "assert 'onnxruntime' not in sys.modules\n"
        f"OnnxEmbedder(Path({str(folder)!r})).embed(['red'], is_query=True)\n"
        "print(len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 1)\n"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
    }
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1"]
    assert list(home.rglob("*")) == []
