"""Test vectors of Ultra Ethernet's congestion control, and what checks another implementation against them.

The vectors are recorded from the protocol code in Rust. A folder of them has the program `check_vectors.py` and the
JSON Schema of the files beside them, so that it is complete without Clearway.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from clearway import _clearway

#: The program that checks another implementation, and the format of the files.
CHECKER = "check_vectors.py"
SCHEMA = "vectors.schema.json"


def algorithms() -> list[str]:
    """The algorithms that have vectors."""
    return _clearway.vector_names()[0]


def readings() -> list[str]:
    """The readings of each algorithm."""
    return _clearway.vector_names()[1]


def schema_text() -> str:
    """The JSON Schema of the files."""
    return files(__name__).joinpath(SCHEMA).read_text("utf-8")


def checker_text() -> str:
    """The program that checks another implementation, which needs Python alone."""
    return files(__name__).joinpath(CHECKER).read_text("utf-8")


def texts(algorithms: Sequence[str], readings: Sequence[str], *, seed: int = 1) -> dict[str, str]:
    """The files of a folder of vectors by their names."""
    vectors = {
        f"{algorithm}.{reading}.json": _clearway.vectors(algorithm, reading, seed=seed)
        for algorithm in algorithms
        for reading in readings
    }
    return {**vectors, CHECKER: checker_text(), SCHEMA: schema_text()}


def write(folder: Path, algorithms: Sequence[str], readings: Sequence[str], *, seed: int = 1) -> list[Path]:
    """Writes the files of a folder of vectors, in place of those that are there. Returns their paths."""
    written = []
    for name, text in texts(algorithms, readings, seed=seed).items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise _clearway.Error(f"{path}: can't be written: {error.strerror}") from None
        written.append(path)
    return written
