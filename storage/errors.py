"""Every exception the storage layer raises.

Never carries memory text: messages name files, labels, tenants and limits only.
"""

from __future__ import annotations

from pathlib import Path


class StorageError(Exception):
    """Base of the layer. Raised when nothing more exact applies."""


class MemoryNotFound(StorageError):
    """Raised when a memory that must exist does not, by id or key within its partition."""


class MemoryExists(StorageError):
    """Raised when a memory that must be new is there already, by id within its partition."""


class InvalidBatch(StorageError):
    """Raised when a batch breaks a rule of the record or a limit of the store.

    Nothing was queued: one bad batch never reaches the transaction it would share with others.
    """


class StaleRevision(StorageError):
    """Raised when a batch does not carry a newer revision than its tenant's last one.

    Nothing was queued. The caller must submit a tenant's batches in revision order.
    """


class StoreBusy(StorageError):
    """Raised when the write queue is full. Nothing was queued; retry later."""


class StoreClosed(StorageError):
    """Raised when a closed store is used."""


class StoreFailed(StorageError):
    """Raised when a commit, sync or checkpoint failed, and for every write after that.

    The batch that met the failure may or may not be found after reopening; earlier acknowledged
    ones are. The store must be closed and opened again before it accepts writes.
    """


class StoreFull(StoreFailed):
    """Raised when the disk, its quota or the descriptors are used up; reads go on.

    The batch that met it is not there, and neither are those after it. Writing begins again by
    itself with the first batch that comes when there is room; no reopening is needed.

    Attributes:
        retry_after_s: how often it is looked whether there is.
    """

    retry_after_s = 1.0


class Corrupt(StorageError):
    """Raised when a file does not open, fails its checksum or breaks an invariant.

    Attributes:
        path: the file.
        detail: what was expected and found.
    """

    def __init__(self, path: Path, detail: str) -> None:
        """Names the file first, so that the message is useful in a log line."""
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class StoreReadOnly(StoreFailed):
    """Raised when a store that was opened to be read only is asked to write; says why it was.

    Nothing was queued. Reads go on; writes need the cause removed and the store opened again.
    """


class FileRefused(StorageError):
    """Raised when the file system refuses an operation on a database: no room, no permission, EIO.

    This is no damage: what was acknowledged stays as it is on the disk.

    Attributes:
        path: the file.
        errno: the system's number of the cause.
    """

    def __init__(self, path: Path, errno: int, detail: str) -> None:
        """Names the file first, so that the message is useful in a log line."""
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.errno = errno


class CopyFailed(StorageError):
    """Raised when a copy of the database cannot be written, for example on a full disk.

    The database itself is as it was; what there was of the copy is removed.
    """

    def __init__(self, path: Path, detail: str) -> None:
        """Names the copy and the cause."""
        super().__init__(f"{path}: could not be written: {detail}")


class SnapshotNotFound(StorageError):
    """Raised when there is no snapshot of a name."""


class SnapshotExists(StorageError):
    """Raised when a snapshot is to get the name of another one."""


class SnapshotDamaged(StorageError):
    """Raised when a snapshot is not what its manifest says, so that it must not be restored.

    Attributes:
        violations: everything that is wrong with it.
        intact_name: the newest snapshot that nothing is wrong with; "" = there is none.
    """

    def __init__(self, name: str, violations: list[str], intact_name: str) -> None:
        """Says what is wrong and what could be taken instead."""
        offer = f"the newest intact one is {intact_name}" if intact_name else "none is intact"
        super().__init__(f"snapshot {name} is damaged: {'; '.join(violations)}; {offer}")
        self.violations = violations
        self.intact_name = intact_name


class EraseFailed(StorageError):
    """Raised when bytes of purged memories are not known to be gone from all files.

    Nothing shows these memories any more; repeating the call, or a restart, goes on with it.
    """


class FormatTooNew(StorageError):
    """Raised when the data was written by a newer version of the product than this one.

    Attributes:
        found: format version of the data.
        supported: newest format version this program reads.
    """

    def __init__(self, path: Path, found: int, supported: int) -> None:
        """Says both versions: the reader decides whether to upgrade or to restore."""
        super().__init__(
            f"{path}: format version {found} is newer than {supported}, the newest this program "
            "reads; use a newer version of the program"
        )
        self.path = path
        self.found = found
        self.supported = supported


class DirectoryLocked(StorageError):
    """Raised when another process holds the data directory.

    Attributes:
        path: the data directory.
        holder: what the holder wrote about itself (`pid`, `host`, `listen_address`,
            `start_time_us`); empty when unknown.
    """

    def __init__(self, path: Path, holder: dict[str, object]) -> None:
        """Names the holder as far as it is known."""
        known = ", ".join(f"{name} {value}" for name, value in holder.items())
        super().__init__(f"{path}: in use by another process ({known or 'holder unknown'})")
        self.path = path
        self.holder = holder
