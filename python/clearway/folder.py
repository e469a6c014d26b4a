"""Result folders: finding them, and writing one so that it is whole or not there."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from clearway._clearway import Error

#: The file with a run's totals. It is written last and removed first: a folder that has it is whole.
SUMMARY = "summary.json"


def is_run(path: Path) -> bool:
    """True if a folder holds a run."""
    try:
        return "clearway" in json.loads((path / SUMMARY).read_text("utf-8"))
    except (OSError, TypeError, ValueError):
        return False


def find_runs(path: Path) -> list[Path]:
    """The runs in a folder and the folders in it, sorted; the folder itself if it is one."""
    if is_run(path):
        return [path]
    return sorted(found.parent for found in path.rglob(SUMMARY) if is_run(found.parent))


def check_target(path: str | Path, *, force: bool = False) -> None:
    """Refuses a place where results must not be written."""
    path = Path(path)
    try:
        if path.exists() and not path.is_dir():
            raise Error(f"{path}: there is a file of this name; name a folder")
        if force or not path.exists() or not any(path.iterdir()) or is_run(path):
            return
        if all(child.is_dir() and is_run(child) for child in path.iterdir()):
            return
    except OSError as error:
        raise Error(f"{path}: can't write the results: {error.strerror}") from None
    raise Error(
        f"{path}: this folder holds something other than results; name another, or use --force (nothing is deleted)"
    )


def write(path: str | Path, files: Mapping[str, bytes], *, force: bool = False) -> Path:
    """Writes the files of a run, its summary among them, to a folder.

    Everything is written to a folder beside it first. A new folder then appears at once; in one that exists, our
    files are replaced one by one, with the summary taken away before and put back last, and others are left alone.
    """
    path = Path(path)
    check_target(path, force=force)
    parent = path.resolve().parent
    scratch = parent / f".{path.resolve().name}.{secrets.token_hex(4)}.tmp"
    try:
        scratch.mkdir(parents=True)
        for name, content in files.items():
            (scratch / name).write_bytes(content)
        if not path.exists():
            scratch.rename(path.resolve())
        else:
            (path / SUMMARY).unlink(missing_ok=True)
            for name in sorted(files, key=lambda one: one == SUMMARY):
                (scratch / name).replace(path / name)
    except OSError as error:
        raise Error(f"{path}: can't write the results: {error.strerror}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return path
