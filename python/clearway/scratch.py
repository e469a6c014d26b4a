"""Folders that appear or are replaced as a whole, whatever happens to the process that writes them.

A folder `out/incast` is made in a *scratch folder* beside it, `out/.clearway-1a2b3c4d5e6f`, which holds:

| entry | what it is |
|---|---|
| `lock` | the new folder's inode and the name that it is to have; its process holds a lock (`flock`) on this file |
| `new` | the new folder, incomplete |
| `ready` | the new folder, complete and on disk; after the exchange, the folder that it replaced |
| `old-1` | the folder that was replaced, on a file system that can't exchange two folders |

The system frees the lock when its process ends, however it ends. So whoever can take the lock knows that the scratch
folder is a leftover, and removes it. Files in a replaced folder that are not of Clearway's are linked into the new one
before it takes its place, and therefore are there at every moment.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Thread

from clearway._clearway import Error

#: The names of all scratch folders begin with this; no result has such a name.
PREFIX = ".clearway-"
LOCK = "lock"
#: Errors of a system call that say that the system, or this file system, can't do it.
CANT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
#: Errors of `link` that say that a file must be moved instead.
CANT_LINK = CANT | {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV}
#: Number of times, and seconds between them, that a reader looks again for a folder that is being replaced.
RETRIES, RETRY_AFTER_S = 100, 0.01

#: Most threads that wait for the disk at a time.
SYNCS = 8

#: Gives the names of those files of a folder that belong to its result, and go when the result is replaced.
Owned = Callable[[Path], set[str]]


class Scratch:
    """A scratch folder of this process, locked until it is closed."""

    def __init__(self, target: Path, *, durable: bool = True) -> None:
        """Makes the scratch folder of a target, whose parent need not exist.

        `durable` waits until the disk has the new folder before the old one goes, for the case of a power failure.
        """
        self.target, self.durable = target, durable
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self.folder = target.parent / f"{PREFIX}{secrets.token_hex(6)}"
            self.folder.mkdir()
            with suppress(FileNotFoundError):  # Another process took the folder for a leftover: try another name.
                self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                if take(self._lock, without_locks=True):
                    break
                os.close(self._lock)
        self._note(0, durable=False)
        self.new = self.folder / "new"
        self.new.mkdir()

    def flush(self) -> None:
        """Waits until the disk has the new folder."""
        if self.durable:
            sync_tree(self.new)

    def publish(self, owned: Owned) -> None:
        """Gives the new folder the name of the target, in exchange for what is there, which is removed then."""
        carry(self.target, self.new, owned)
        ready = self.folder / "ready"
        # After a power failure it tells which of two folders is the new one; where there is one only, nobody asks.
        self._note(self.new.stat().st_ino, durable=self.durable and os.path.lexists(self.target))
        self.new.rename(ready)
        for attempt in count(1):  # Again where another process made or moved the target in between.
            try:
                if not os.path.lexists(self.target):
                    ready.rename(self.target)
                elif not exchange(ready, self.target):
                    self.target.rename(self.folder / f"old-{attempt}")
                    ready.rename(self.target)
                break
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) or not ready.exists():
                    raise
        if self.durable:
            sync(self.target.parent)

    def close(self, owned: Owned) -> None:
        """Removes the scratch folder and what was replaced; what can't be removed now is a leftover."""
        try:
            with suppress(OSError):
                remove(self.folder, owned)
        finally:
            os.close(self._lock)

    def _note(self, inode: int, *, durable: bool) -> None:
        """Writes into the lock's file what another process must know to clean up after this one."""
        os.pwrite(self._lock, f"{inode}\n{self.target.name}".encode(errors="surrogateescape"), 0)
        if durable:
            os.fsync(self._lock)


def take(lock: int, *, without_locks: bool = False) -> bool:
    """Locks an open file for this process, unless another holds it or has removed it.

    Returns `without_locks` where the file system has no locks, as Lustre may: leftovers stay there, and harm nobody.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in CANT | {errno.ENOLCK}:
            return without_locks
        raise
    return os.fstat(lock).st_nlink > 0


def clean(parent: Path, owned: Owned) -> None:
    """Removes the scratch folders of processes that were killed, and finishes what they had begun."""
    for folder in leftovers(parent):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:  # It was about to be locked, or all but removed. Fails if there is something in it.
            with suppress(OSError):
                folder.rmdir()
            continue
        except OSError:  # It is somebody else's.
            continue
        try:
            if take(lock):
                with suppress(OSError):  # It stays a leftover, which harms nobody.
                    remove(folder, owned)
        finally:
            os.close(lock)


def recover(parent: Path, owned: Owned) -> None:
    """Brings back folders that are missing because a process was killed while it replaced them by two renames.

    Waits for a process that is alive, as the second rename follows at once.
    """
    for _ in range(RETRIES):
        if not any(replaced_in(one) and not os.path.lexists(target_of(one)) for one in leftovers(parent)):
            return
        clean(parent, owned)
        time.sleep(RETRY_AFTER_S)


def replaced_in(folder: Path) -> list[Path]:
    """The folders in a scratch folder that were moved out of the way; none if it is gone or somebody else's."""
    with suppress(OSError):
        return [Path(entry) for entry in entries(folder) if entry.name.startswith("old-")]
    return []


def target_of(folder: Path) -> Path:
    """The folder that is made in a scratch folder."""
    try:
        name = os.fsdecode((folder / LOCK).read_bytes()).partition("\n")[2]
    except OSError:
        name = ""
    return folder.parent / name


def leftovers(parent: Path) -> list[Path]:
    """The scratch folders in a folder, also those in use."""
    try:
        return [Path(entry) for entry in os.scandir(parent) if is_scratch(entry.name)]
    except OSError:
        return []


def is_scratch(name: str) -> bool:
    """True for the name of a scratch folder."""
    return name.startswith(PREFIX)


def in_use(folder: Path) -> bool:
    """True if a process is writing into a scratch folder."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not take(lock)
    finally:
        os.close(lock)


def remove(folder: Path, owned: Owned) -> None:
    """Removes a scratch folder whose lock this process holds; the lock goes last.

    Nobody replaces the target meanwhile: a path through a folder that is exchanged and emptied may end nowhere.
    """
    with locked(folder.parent):
        remove_locked(folder, owned)


def remove_locked(folder: Path, owned: Owned) -> None:
    """Removes a scratch folder while no other process replaces a folder beside it."""
    target, ready = target_of(folder), folder / "ready"
    if target == folder.parent:  # Nobody knows whose it is, as after a power failure.
        shutil.rmtree(folder)
        return
    inode = (folder / LOCK).read_bytes().partition(b"\n")[0]
    replaced = replaced_in(folder)
    if replaced and not os.path.lexists(target):  # Its process was killed between two renames.
        (ready if ready.exists() else replaced.pop()).rename(target)
    if ready.exists():
        if replaced or inode == b"%d" % ready.stat().st_ino:
            shutil.rmtree(ready)  # It never took the target's name.
        else:
            replaced.append(ready)
    for old in replaced:
        settle(old, target, owned)
    if (folder / "new").exists():
        shutil.rmtree(folder / "new")
    (folder / LOCK).unlink()
    folder.rmdir()


def carry(old: Path, new: Path, owned: Owned) -> None:
    """Links into a new folder what is in the old one and neither belongs to its result nor is replaced."""
    mine = owned(old)
    for entry in entries(old):
        there = new / entry.name
        if is_scratch(entry.name):
            if in_use(Path(entry)):
                raise Error(f"{old}: another process is saving a result in this folder; wait until it is done")
        elif entry.is_dir(follow_symlinks=False):
            if Path(entry).is_mount():
                raise Error(f"{entry.path}: a file system is mounted here, so {old} can't be replaced; name another")
            if not there.exists():
                there.mkdir()
                shutil.copystat(entry, there)
                carry(Path(entry), there, lambda _: set())
            else:
                carry(Path(entry), there, owned)
        elif entry.name not in mine and not os.path.lexists(there):
            try:
                os.link(entry, there, follow_symlinks=False)
            except OSError as error:
                if error.errno not in CANT_LINK:
                    raise  # Otherwise `settle` moves the file as soon as the old folder is replaced.


def settle(old: Path, target: Path, owned: Owned) -> None:
    """Removes a folder that was replaced; what does not belong to its result and is not in the new one moves there."""
    if not target.exists():
        shutil.rmtree(old)
        return
    mine = owned(old)
    for entry in entries(old):
        there = target / entry.name
        if entry.name in mine:
            Path(entry).unlink()
        elif is_scratch(entry.name):
            shutil.rmtree(entry)
        elif not os.path.lexists(there):
            Path(entry).rename(there)
        elif entry.is_dir(follow_symlinks=False) and there.is_dir():
            settle(Path(entry), there, owned)
        elif is_newer(Path(entry), there):
            Path(entry).replace(there)
        else:
            Path(entry).unlink()
    old.rmdir()


def is_newer(one: Path, other: Path) -> bool:
    """True if a file is another one, and newer: it was written while a folder was being replaced."""
    this, that = one.lstat(), other.lstat()
    return this.st_ino != that.st_ino and this.st_mtime_ns > that.st_mtime_ns


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder by name; none if it does not exist."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)
    return []


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from replacing folders in this one; nothing where folders can't be locked, as on NFS."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders, so that nobody sees either missing; returns False where the system can't."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        name, arguments = "renamex_np", (os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
    else:
        here = -100  # AT_FDCWD
        name, arguments = "renameat2", (here, os.fsencode(one), here, os.fsencode(other), 2)  # RENAME_EXCHANGE
    function = getattr(libc, name, None)
    if function is None:
        return False
    if function(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in CANT:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


def sync(path: Path) -> None:
    """Has the system write a file, or a folder's list of names, to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Has the system write all that is in a folder to disk.

    Several threads ask for it at once, since file systems with a journal write what waits at the same time together.
    """
    paths = [folder]
    for place in paths:  # Grows while folders are found in it.
        paths += [Path(entry) for entry in entries(place) if entry.is_dir(follow_symlinks=False)]
    paths += [Path(entry) for place in paths for entry in entries(place) if not entry.is_dir(follow_symlinks=False)]
    failed: list[OSError] = []

    def sync_all(some: list[Path]) -> None:
        try:
            for path in some:
                sync(path)
        except OSError as error:
            failed.append(error)

    threads = [Thread(target=sync_all, args=(paths[at::SYNCS],)) for at in range(1, min(SYNCS, len(paths)))]
    for thread in threads:
        thread.start()
    sync_all(paths[::SYNCS])
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts signals off until the end of the block, for what takes only a moment and must not be left half done.

    These are Ctrl-C, and SIGTERM and SIGHUP where the program handles them; by default they end it at once.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread() or not handled:
        yield
        return
    came: list[int] = []
    for number in handled:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
