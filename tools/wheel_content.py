"""Says what a wheel lacks that `pip install` must bring: the live page, all examples and lessons, the lists of figures.

python tools/wheel_content.py WHEEL
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

SCENARIOS = Path(__file__).parent.parent / "scenarios"
DATA = "clearway/data/"


def wanted() -> list[str]:
    """The files that a wheel must have besides its modules."""
    examples = sorted(path.relative_to(SCENARIOS).as_posix() for path in SCENARIOS.rglob("*.toml"))
    return [
        "clearway/_clearway.abi3.so",
        *(f"{DATA}{name}" for name in ("web/clearway.html", "examples.toml", "figures.json", "clearway.lua")),
        *(f"{DATA}scenarios/{name}" for name in examples),
    ]


def lacking(names: Iterable[str]) -> list[str]:
    """The wanted files that are not among the names of a wheel's files."""
    there = set(names)
    return [name for name in wanted() if name not in there]


def main() -> None:
    """Checks the wheel that the call names."""
    path = sys.argv[1]
    with zipfile.ZipFile(path) as wheel:
        left_out = lacking(wheel.namelist())
    if left_out:
        sys.exit(f"{path}: lacks {', '.join(left_out)}")


if __name__ == "__main__":
    main()
