"""Real certificates, made by openssl: an authority and what it signs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes the certificates"
)


class Authority:
    """An authority of its own, with its files in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder
        self.cert = folder / f"{name}.crt"
        self._key = folder / f"{name}.key"
        self._request(name, self._key, self.cert, "-x509", "-days", "2")

    def _request(self, name: str, key: Path, out: Path, *more: str) -> None:
        """A key, and a request or a certificate for it."""
        fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        about = ["-subj", f"/CN={name}", "-keyout", str(key), "-out", str(out)]
        subprocess.run(["openssl", "req", *fresh, *about, *more], check=True, capture_output=True)

    def sign(self, name: str, *alternatives: str) -> tuple[Path, Path]:
        """Certificate and key of a name, with subject alternative names such as `DNS:x`."""
        key, request, cert, extension = (
            self.folder / f"{name}.{end}" for end in ("key", "csr", "crt", "ext")
        )
        self._request(name, key, request)
        extension.write_text(f"subjectAltName={','.join(alternatives)}\n" if alternatives else "")
        signing = ["-CA", str(self.cert), "-CAkey", str(self._key), "-CAcreateserial"]
        files = ["-in", str(request), "-out", str(cert), "-extfile", str(extension)]
        subprocess.run(
            ["openssl", "x509", "-req", "-days", "2", *signing, *files],
            check=True,
            capture_output=True,
        )
        return cert, key
