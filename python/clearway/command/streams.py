"""Standard output and standard error of the command, where a disk is full or nobody opened them.

A command goes on when its output can't be written: what it computed goes to its folder all the same, and the command
ends with one line and the exit code 1. A reader that leaves early, as in `clearway ... | head`, is no such failure.
What can't be written to standard error is left out, as there is no other place to say so.

A letter that the encoding of an output does not have, as ASCII has no "µ", is written in letters that it has.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from clearway.ends import FAILED, complain

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Letters that the command prints, as they are written where the encoding has none.
PLAIN = {"µ": "u", "±": "+-", "×": "x", "→": "->", "–": "-", "…": "...", "─": "-", "·": "."}
#: The name under which Python knows `plain`.
IN_PLAIN_LETTERS = "clearway-plain"


def plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes a letter that an encoding does not have: in plain ones, or by its number, as JSON writes it.

    Bytes of a file's name that Python could not decode are written as they are.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    return PLAIN.get(letter) or json_escape(letter), error.start + 1


def writable(text: str, encoding: str) -> str:
    """A text as an output with this encoding shows it, for tables, whose columns are as wide as their texts."""
    return text.encode(encoding, IN_PLAIN_LETTERS).decode(encoding, "replace")


def json_escape(letter: str) -> str:
    """A letter by its number, or by the two numbers that stand for it in UTF-16."""
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


codecs.register_error(IN_PLAIN_LETTERS, plain)


class Descriptor(io.FileIO):
    """A file descriptor that keeps the first error of writing, and takes what follows into nothing."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        #: The error that the first failed write had.
        self.error: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes what can be written; the rest counts as written too."""
        if self.error is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes


class Silent(Descriptor):
    """A file descriptor of standard error, whose reader may leave without ending the command."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes what can be written; the rest counts as written too."""
        try:
            return super().write(data)
        except BrokenPipeError as error:
            self.error = error
        return memoryview(data).nbytes


class Streams:
    """The standard streams of a command that runs."""

    def __init__(self) -> None:
        fill()
        self._out = Descriptor(1)
        sys.stdout = wrapped(self._out, sys.stdout)
        sys.stderr = wrapped(Silent(2), sys.stderr)

    def checked(self, code: int) -> int:
        """The exit code of a command that ended with `code`: another if what it printed was not written."""
        error = self._out.error
        if error is None or code != 0:
            return code
        return complain(f"standard output: can't be written: {error.strerror}", FAILED)


@contextmanager
def standard() -> Iterator[Streams]:
    """The standard streams for the time of a command; all that was printed is written when it is left."""
    before = sys.stdout, sys.stderr
    streams = Streams()
    try:
        yield streams
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(BrokenPipeError):
                stream.flush()
        sys.stdout, sys.stderr = before


def fill() -> None:
    """Opens the standard descriptors that are closed, so that no file of the command takes their place.

    Nothing can be written to them nor read from them, as is so with a closed one.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_WRONLY if number == 0 else os.O_RDONLY
            opened = os.open(os.devnull, mode)
            assert opened == number, "the lowest free descriptor is taken"
            os.set_inheritable(number, True)


def wrapped(raw: Descriptor, old: TextIO | None) -> TextIO:
    """A text stream on a descriptor, which behaves as the one that Python opened there."""
    if not isinstance(old, io.TextIOWrapper):
        return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", IN_PLAIN_LETTERS, line_buffering=True)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        old.encoding,
        IN_PLAIN_LETTERS,
        line_buffering=old.line_buffering,
        write_through=old.write_through,
    )
