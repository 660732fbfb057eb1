"""Version of the product and of the API within v1."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

API_REVISION = 1

try:
    VERSION = version("recalld")
except PackageNotFoundError:
    VERSION = "0.0.0+source"
