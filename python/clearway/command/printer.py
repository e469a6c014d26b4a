"""The console that commands print to."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.text import Text

from clearway.units import for_people


class Printer(Console):
    """A console for texts that users wrote: brackets and colons in them are printed as they are.

    On a terminal it writes µs for us, where the encoding has the letter; files and pipes, which programs read, get us.
    It prints into nothing once its reader is gone, as in `clearway compare ... | head`.
    """

    def __init__(self, *, quiet: bool, stderr: bool = False, width: int | None = None, soft_wrap: bool = False) -> None:
        super().__init__(
            quiet=quiet, stderr=stderr, width=width, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False
        )

    def render_str(self, text: str, **options: Any) -> Text:
        """Makes a text, or the cell of a table, ready to be printed."""
        return super().render_str(for_people(text) if self.is_for_people() else text, **options)

    def is_for_people(self) -> bool:
        """True on a terminal whose encoding has a µ."""
        try:
            "µ".encode(self.encoding)
        except (LookupError, UnicodeEncodeError):
            return False
        return self.is_terminal

    def on_broken_pipe(self) -> None:
        """Goes on without a reader, which has seen what it wanted, so that results are written and told of."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
