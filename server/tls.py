"""Certificates of the server, read anew for each connection after their files change.

A renewed certificate is served without a restart. One that cannot be read any more is told in the
log, and the last good one goes on: unlike a credential it lets nobody in.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import grpc

from recalld.server.errors import ConfigError
from recalld.server.sections import TlsSection

Stamp = tuple[tuple[int, int, int], ...]


def server_credentials(settings: TlsSection, log: Any) -> grpc.ServerCredentials | None:
    """Credentials of a server's port; None without a certificate.

    Raises:
        ConfigError: a file cannot be read, is no PEM, or certificate and key do not fit; names it.
    """
    if settings.cert_file is None:
        return None
    certificates = _Certificates(settings, log)
    return grpc.dynamic_ssl_server_credentials(
        certificates.first,
        certificates.changed,  # type: ignore[arg-type]  # None is "no change"
        require_client_authentication=settings.client_ca_file is not None,
    )


class _Certificates:
    """The files, and what they looked like when they were read last."""

    def __init__(self, settings: TlsSection, log: Any) -> None:
        """Read them once."""
        self._settings = settings
        self._log = log
        self._stamp = _look(settings)
        self.first = _read(settings)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """New certificates, if the files changed; called by the runtime, from its own threads."""
        try:
            stamp = _look(self._settings)
            if stamp == self._stamp:
                return None
            self._stamp = stamp
            return _read(self._settings)
        except (ConfigError, OSError) as error:
            self._log.error("certificates cannot be read, the old ones stay", problem=str(error))
            return None


def _files(settings: TlsSection) -> list[Path]:
    """The files that are set."""
    named = (settings.cert_file, settings.key_file, settings.client_ca_file)
    return [path for path in named if path is not None]


def _look(settings: TlsSection) -> Stamp:
    """What changes with the files."""
    found = []
    for path in _files(settings):
        try:
            seen = path.stat()
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        found.append((seen.st_ino, seen.st_mtime_ns, seen.st_size))
    return tuple(found)


def _read(settings: TlsSection) -> grpc.ServerCertificateConfiguration:
    """Read and check the files: gRPC itself takes anything, and then refuses every connection."""
    assert settings.cert_file is not None and settings.key_file is not None
    checked = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        checked.load_cert_chain(settings.cert_file, settings.key_file, password="")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"tls: {settings.cert_file} and {settings.key_file} are no certificate chain with its "
            f"unencrypted private key: {error}"
        ) from error
    authorities = None
    if settings.client_ca_file is not None:
        try:
            checked.load_verify_locations(settings.client_ca_file)
            authorities = settings.client_ca_file.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"tls.client_ca_file: {settings.client_ca_file} holds no certificates: {error}"
            ) from error
    pair = (settings.key_file.read_bytes(), settings.cert_file.read_bytes())
    return grpc.ssl_server_certificate_configuration([pair], authorities)
