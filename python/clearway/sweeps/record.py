"""The record of a sweep's folder: the points that were asked for, and the hash of each file.

It is written before the first point is run, so that a sweep that was killed can be read as far as it came, and again
with the tables. It guards itself by a checksum, as the summary of a run does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from clearway import _clearway, folder
from clearway.jobs import files
from clearway.packs import RECORD as RECORD
from clearway.packs import RUNS as RUNS
from clearway.sweeps.points import Column

#: The copy of the sweep file, and the first table. `clearway.packs` names the record and the folder of the runs.
FILE, TABLE = "sweep.toml", "runs.parquet"
#: The key of a run's summary that names its result in the store.
KEY = "key"


@dataclass(frozen=True)
class Entry:
    """A point in the record."""

    #: Name of the folder of its run, in `runs`.
    folder: str
    #: Key of its result: that in the summary of its run.
    key: str
    #: Hash of its scenario alone, wherever its files lie and whichever version resolved it.
    scenario: str


@dataclass(frozen=True)
class Record:
    """The points of a sweep, and the files that its folder holds."""

    name: str
    columns: list[Column]
    points: list[Entry]
    #: Hash of each file of the folder, runs apart, which have summaries of their own.
    files: dict[str, str] = field(default_factory=dict)
    #: True if the tables lack points, since Ctrl-C ended the sweep.
    interrupted: bool = False

    @property
    def has_tables(self) -> bool:
        """True once the tables were written; before, the runs are all that there is."""
        return TABLE in self.files

    def write(self, path: Path) -> None:
        """Writes the record into the folder of a sweep."""
        content = {
            "clearway": _clearway.__version__,
            **vars(self),
            "columns": [vars(column) for column in self.columns],
            "points": [vars(point) for point in self.points],
        }
        content[folder.CHECKSUM] = folder.checksum(content)
        files.replace(path / RECORD, (json.dumps(content, ensure_ascii=False) + "\n").encode())

    def sealed(self, path: Path, names: Iterable[str], *, interrupted: bool = False) -> Record:
        """The record with the hashes of these files of the folder, and of no others."""
        hashes = {name: folder.file_hash(path / name) for name in names}
        return replace(self, files=hashes, interrupted=interrupted)

    def content(self, path: Path, name: str) -> bytes:
        """The content of a file of the folder; raises `ValueError` if it is not the one that was written."""
        found = folder.read_bytes(path / name)
        if folder.bytes_hash(found) != self.files.get(name):
            raise ValueError(f"{name} is damaged or was edited (its hash is not that in {RECORD})")
        return found


def read(path: Path) -> Record:
    """The record of the sweep in a folder; raises `ValueError` if it is not the one that was written."""
    try:
        content = json.loads(folder.read_text(path / RECORD))
    except FileNotFoundError:
        raise ValueError(
            f"{RECORD} is missing, which has the hashes of the files (older versions wrote none)"
        ) from None
    except (ValueError, RecursionError):
        raise ValueError(f"{RECORD} is damaged (it is not JSON)") from None
    if not isinstance(content, dict) or content.pop(folder.CHECKSUM, None) != folder.checksum(content):
        raise ValueError(f"{RECORD} is damaged or was edited (its {folder.CHECKSUM} is another)")
    try:
        return Record(
            name=content["name"],
            columns=[Column(**column) for column in content["columns"]],
            points=[Entry(**point) for point in content["points"]],
            files=content["files"],
            interrupted=content["interrupted"],
        )
    except (KeyError, TypeError):
        raise ValueError(f"{RECORD} was written by another version, {content.get('clearway')}") from None


def files_of(path: Path) -> list[str]:
    """The names of the files of the sweep in a folder; none where there is no record, or a damaged one."""
    try:
        return list(read(path).files)
    except (OSError, ValueError):
        return []


def is_sweep(path: str | Path) -> bool:
    """True if a folder holds a sweep, damaged or not."""
    return sum((Path(path) / name).is_file() for name in (RECORD, FILE, TABLE)) > 1
