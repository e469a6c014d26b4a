"""Files that people name: read whole or refused in a line, by the rules that the simulator has for scenarios."""

from __future__ import annotations

import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

from clearway._clearway import Error

#: Most bytes of a text that people write, as of a scenario file.
TEXT_MAX = 16_000_000
#: Most bytes of a list of flows that a scenario names.
LIST_MAX = 256_000_000
#: Most levels of tables and lists in each other; more would end in an error of the interpreter.
LEVELS_MAX = 50
#: Whole numbers of TOML have 64 bits.
WHOLE = range(-(2**63), 2**64)


def content(path: Path, most: int = TEXT_MAX) -> bytes:
    """The bytes of a file of at most `most` bytes; raises `Error` for one that can't be read."""
    try:
        about = path.stat()
        # A pipe or a device might never end.
        if not stat.S_ISREG(about.st_mode):
            what = "a directory" if stat.S_ISDIR(about.st_mode) else "no file"
            raise Error(f"{path}: is {what}; name a text file")
        if about.st_size > most:
            raise Error(f"{path}: is too large, {about.st_size} bytes; the limit is {most}")
        return path.read_bytes()
    except OSError as error:
        raise Error(f"{path}: can't be read: {error.strerror}") from None


def of_result(path: Path) -> BufferedReader:
    """A file of a result folder, open to be read; raises `ValueError` for a pipe or a device, which may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path.name} is no file")
    return path.open("rb")


def start(path: Path, most: int) -> str:
    """The first characters of a file, as far as they are text; none of a pipe or a device."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(most)


def toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; raises `Error` for one that can't be read."""
    try:
        return parsed(content(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Error(f"{path}: is not UTF-8; save it as UTF-8 text") from None
    except ValueError as error:
        raise Error(f"{path}: {error}") from None


def parsed(text: str) -> dict[str, Any]:
    """The content of a TOML text; raises `ValueError`, whose text follows the name of the text in a message."""
    try:
        found = tomllib.loads(text)
    except ValueError as error:
        raise ValueError(f"is not TOML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    check_values(found)
    return found


#: The reason why a text with too many levels is refused.
TOO_DEEP = f"has tables or lists in each other over more than {LEVELS_MAX} levels; write fewer"


def check_values(value: object, levels: int = LEVELS_MAX) -> None:
    """Raises `ValueError` for levels and numbers that no program needs, and that ours could not write."""
    if levels == 0:
        raise ValueError(TOO_DEEP)
    if isinstance(value, int) and value not in WHOLE:
        raise ValueError(f"has the number {hex(value)[:20]}..., which has more than 64 bits; write a smaller one")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_values(inner, levels - 1)
