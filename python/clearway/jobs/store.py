"""A store of results by their key: each is whole or absent, whoever is killed while writing it.

A key is a hash of everything that a result depends on, so a result never changes, and whoever needs it again reads it.
Several processes may share a store, also over a network file system.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from clearway._clearway import Error

#: The file with the hash of each file of an entry.
MANIFEST = "entry.json"
#: The folder in which entries are prepared.
DRAFTS = ".drafts"
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
        """True if there is an entry of this key; `read` says whether it is undamaged."""
        return (self.path(key) / MANIFEST).exists()

    def put(self, key: str, files: Mapping[str, bytes]) -> Path:
        """Keeps files under a key, all of them or none; an entry that is there already stays."""
        path = self.path(key)
        manifest = {name: content_hash(content) for name, content in sorted(files.items())}
        draft = self.folder / DRAFTS / draft_name()
        try:
            draft.mkdir(parents=True)
            for name, content in files.items():
                (draft / name).write_bytes(content)
            (draft / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.rename(path)
            except OSError:  # A folder that is not empty is not replaced: of two writers the first one wins ...
                if not self.is_whole(key):  # ... unless its entry is damaged, in which case it is gone now.
                    draft.rename(path)
        except OSError as error:
            raise Error(f"{path}: can't keep this result: {error.strerror}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return path

    def read(self, key: str) -> dict[str, bytes] | None:
        """The files of an entry; None if there is none, or if it was damaged, in which case it is removed."""
        path = self.path(key)
        try:
            manifest = json.loads((path / MANIFEST).read_bytes())
            files = {str(name): (path / name).read_bytes() for name in manifest}
        except FileNotFoundError:
            if path.exists():
                self.discard(key)
            return None
        except (AttributeError, OSError, TypeError, ValueError):
            manifest, files = {}, {}
        if files and all(content_hash(content) == manifest[name] for name, content in files.items()):
            return files
        self.discard(key)
        return None

    def is_whole(self, key: str) -> bool:
        """True if there is an entry and none of its bytes has changed; a damaged one is removed."""
        return key in self and self.read(key) is not None

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


def content_hash(content: bytes) -> str:
    """The hash of a file's content."""
    return blake2b(content, digest_size=16).hexdigest()


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
    """The time at which a process began, as the system counts it; empty if there is no such process.

    A number of a process is used again, but not with the same beginning. Without `/proc` it is a constant.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "" if Path("/proc/self/stat").exists() else "running"
