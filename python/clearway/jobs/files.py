"""Single files that are replaced at once, so that a reader finds the old or the new content, whole."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from clearway._clearway import Error
from clearway.jobs.store import draft_name, is_abandoned

#: Beginning of the names of drafts.
DRAFT = ".draft@"


def replace(path: Path, content: bytes) -> None:
    """Writes a file in place of an earlier one, which stays whole until the new one is."""
    draft = path.with_name(f"{DRAFT}{path.name}@{draft_name()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise Error(f"{path}: can't be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def clean(folder: Path) -> None:
    """Removes drafts of processes that were killed."""
    with suppress(OSError):
        for draft in folder.glob(f"{DRAFT}*"):
            if is_abandoned(draft):
                draft.unlink()
