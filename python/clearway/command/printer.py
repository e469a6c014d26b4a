"""The console that commands print to."""

from __future__ import annotations

import os

from rich.console import Console


class Printer(Console):
    """A console that prints into nothing once its reader is gone, as in `clearway compare ... | head`."""

    def on_broken_pipe(self) -> None:
        """Goes on without a reader, which has seen what it wanted, so that results are written and told of."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
