"""The console that commands print to."""

from __future__ import annotations

import os

from rich.console import Console


class Printer(Console):
    """A console for texts that users wrote: brackets and colons in them are printed as they are.

    It prints into nothing once its reader is gone, as in `clearway compare ... | head`.
    """

    def __init__(self, *, quiet: bool, stderr: bool = False, width: int | None = None, soft_wrap: bool = False) -> None:
        super().__init__(
            quiet=quiet, stderr=stderr, width=width, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False
        )

    def on_broken_pipe(self) -> None:
        """Goes on without a reader, which has seen what it wanted, so that results are written and told of."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
