"""The page as `make web` builds it and wheels contain it: one HTML file with the simulator in it."""

from __future__ import annotations

from importlib.resources import files

from clearway._clearway import Error


def page() -> str:
    """The page without scenarios. Raises `Error` where this installation has none."""
    file = files("clearway").joinpath("data", "web", "clearway.html")
    try:
        return file.read_text("utf-8")
    except OSError:
        raise Error("the live page is not built here; `make web` in the repository builds it") from None


def is_there() -> bool:
    """True if this installation has the page."""
    return files("clearway").joinpath("data", "web", "clearway.html").is_file()
