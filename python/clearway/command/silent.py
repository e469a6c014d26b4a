"""The console of a command that is to print nothing: it needs no package that draws."""

from __future__ import annotations

from typing import Any, Protocol


class Notes(Protocol):
    """A console for sentences: one of Rich's, or none."""

    def print(self, *objects: Any, markup: bool | None = None, soft_wrap: bool | None = None) -> None:
        """Prints a sentence."""


class Silent:
    """Prints nothing."""

    def print(self, *objects: Any, markup: bool | None = None, soft_wrap: bool | None = None) -> None:
        """Does nothing."""
