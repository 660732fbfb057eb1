"""Exceptions of the index layer: embedders and vector indexes.

They never name a gRPC status; the server's status table translates them.
"""

from __future__ import annotations


class IndexLayerError(Exception):
    """Base of every exception of this layer; never raised itself."""


class EmbedderMismatch(IndexLayerError):
    """Raised when vectors of one embedder meet an index or a store built with another one."""


class ModelMissing(IndexLayerError):
    """Raised when a model folder, or a file that it must hold, does not exist."""


class ModelInvalid(IndexLayerError):
    """Raised when a model file exists but is damaged, contradicts itself or is not supported."""


class ModelBuildFailed(IndexLayerError):
    """Raised when the model cannot be built: no weights, no network, wrong checksum."""


class PairsInvalid(IndexLayerError):
    """Raised when a file of training pairs is malformed; names file and line."""


class CatalogueInvalid(IndexLayerError):
    """Raised when a role catalogue cannot be read or breaks a rule; names file, line and field."""


class BadVector(IndexLayerError):
    """Raised when a vector has the wrong width, is not finite, or has no length to normalise."""


class EmbedQueueFull(IndexLayerError):
    """Raised when too many texts wait for the embedder; nothing was done.

    A retry can help after `retry_after_s` seconds.
    """

    def __init__(self, message: str, *, retry_after_s: float = 0.2) -> None:
        """Keep when to come again."""
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EmbedderClosed(IndexLayerError):
    """Raised when a text is given to an embedder that was closed, or was still waiting then."""


class BadLabel(IndexLayerError):
    """Raised when a label is out of range, named twice, present on adding or absent on removing."""


class BadPlan(IndexLayerError):
    """Raised when a search plan or filter breaks a documented limit; names the field."""
