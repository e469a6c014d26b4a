"""A store of results by their key: each is whole or absent, whoever is killed while writing it.

A key is a hash of everything that a result depends on, so a result never changes, and whoever needs it again reads it.
Several processes may share a store, also over a network file system.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clearway._clearway import Error

#: The file with the hash of each file of an entry.
MANIFEST = "entry.json"
#: The folder in which entries are prepared.
DRAFTS = ".drafts"
#: The folder of files that are locked by those who work on a key.
CLAIMS = ".claims"
#: Age from which the draft of another machine counts as abandoned, in seconds.
ABANDONED_S = 24 * 3600


class Store:
    """A folder of results. An entry is a folder of files, under the first two characters of its key."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """The folder of an entry, which may be absent."""
        return self.folder / key[:2] / key

    def __contains__(self, key: str) -> bool:
        """True if there is an entry of this key; `get` says whether it is undamaged."""
        return (self.path(key) / MANIFEST).exists()

    def put(self, key: str, write: Callable[[Path], object]) -> Path:
        """Keeps the files that `write` writes into a folder, all of them or none; an entry that is there stays."""
        path = self.path(key)
        draft = self.folder / DRAFTS / draft_name()
        try:
            draft.mkdir(parents=True)
            write(draft)
            manifest = {file.name: file_hash(file) for file in sorted(draft.iterdir())}
            (draft / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.rename(path)
            except OSError:  # A folder that is not empty is not replaced: of two writers the first one wins ...
                if self.get(key) is None:  # ... unless its entry is damaged, in which case it is gone now.
                    draft.rename(path)
        except OSError as error:
            raise Error(f"{path}: can't keep this result: {error.strerror or error}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return path

    def put_files(self, key: str, files: Mapping[str, bytes]) -> Path:
        """Keeps files by their names and contents."""

        def write(draft: Path) -> None:
            for name, content in files.items():
                (draft / name).write_bytes(content)

        return self.put(key, write)

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Lets one process at a time work on a key: who waited finds the result of the other one.

        The system ends the claim of a process that is killed. Where files can't be locked, as on some network file
        systems, two processes may do the same work, and the first result stays.
        """
        path = self.folder / CLAIMS / key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise Error(f"{self.folder}: can't keep results: {error.strerror}") from None
        try:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            with suppress(OSError):  # Who waits on the removed file finds the result.
                path.unlink()
            os.close(handle)

    def get(self, key: str) -> Path | None:
        """The folder of an entry; None if there is none, or if it was damaged, in which case it is removed."""
        path = self.path(key)
        try:
            manifest = json.loads((path / MANIFEST).read_bytes())
            if manifest and all(file_hash(path / name) == known for name, known in manifest.items()):
                return path
        except (AttributeError, OSError, TypeError, ValueError):
            pass
        if path.exists():
            self.discard(key)
        return None

    def discard(self, key: str) -> None:
        """Removes an entry, at once for those who look for it."""
        path, grave = self.path(key), self.folder / DRAFTS / draft_name()
        with suppress(OSError):
            grave.parent.mkdir(parents=True, exist_ok=True)
            path.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)

    def clean(self) -> None:
        """Removes what processes that were killed left unfinished."""
        with suppress(OSError):
            for draft in (self.folder / DRAFTS).iterdir():
                if is_abandoned(draft):
                    shutil.rmtree(draft, ignore_errors=True)
        with suppress(OSError):
            for claim in (self.folder / CLAIMS).iterdir():
                with claim.open("rb+") as handle, suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    claim.unlink()


def file_hash(file: Path) -> str:
    """The hash of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def draft_name() -> str:
    """A name that no other draft has and that tells whose it is: machine, process, when that began, a random part."""
    pid = os.getpid()
    return f"{socket.gethostname()}@{pid}@{process_start(pid)}@{secrets.token_hex(4)}"


def is_abandoned(draft: Path) -> bool:
    """True if the process that made a draft is gone."""
    try:
        host, pid, began, _ = draft.name.split("@")[-4:]
        if host == socket.gethostname():
            return process_start(int(pid)) != began
    except ValueError:
        pass
    return time.time() - draft.stat().st_mtime > ABANDONED_S


def process_start(pid: int) -> str:
    """The time at which a process began, as the system counts it; empty if there is no such process, or if it ended.

    A number of a process is used again, but not with the same beginning. Without `/proc` it is a constant.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # A process that ended stays in the table until its parent asks how; an orphan's new parent may take its time.
        return "" if state in "ZX" else fields[18]
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "" if Path("/proc/self/stat").exists() else "running"
