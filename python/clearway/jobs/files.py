"""Single files that are replaced at once, so that a reader finds the old or the new content, whole."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from clearway._clearway import Error
from clearway.jobs.store import draft_name, is_abandoned
from clearway.scratch import sync

#: Beginning of the names of drafts.
DRAFT = ".draft@"


def replace(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Writes a file in place of an earlier one, which stays whole until the new one is.

    With `durable`, the disk has the content before the file has its name, for the case of a power failure.
    """
    draft = path.with_name(f"{DRAFT}{path.name}@{draft_name()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        if durable:
            sync(draft)
        draft.replace(path)
    except OSError as error:
        raise Error(f"{path}: can't be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def has(path: Path, content: bytes) -> bool:
    """True if a file has this content."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def link(path: Path, other: Path) -> None:
    """Gives a file a second name, which another file may have had, or copies it where the file system can't."""
    draft = other.with_name(f"{DRAFT}{other.name}@{draft_name()}")
    other.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            draft.hardlink_to(path)
        except OSError:
            shutil.copyfile(path, draft)
        draft.replace(other)
    finally:
        with suppress(OSError):
            draft.unlink()


def clean(folder: Path) -> None:
    """Removes drafts of processes that were killed."""
    with suppress(OSError):
        for draft in folder.glob(f"{DRAFT}*"):
            if is_abandoned(draft):
                draft.unlink()
