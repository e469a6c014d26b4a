"""Files that `--install` puts where shells and `man` look for them, in the user's own folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from clearway._clearway import Error


def manuals() -> Path:
    """The folder of manuals beside that of the command, where `man` looks, or else the user's own."""
    command = Path(shutil.which("clearway") or "")
    beside = command.parent.name == "bin" and os.access(command.parent.parent, os.W_OK)
    return (command.parent.parent / "share" if beside else data_folder()) / "man"


def data_folder() -> Path:
    """The folder of the user's data, as the XDG base directories have it."""
    return folder("XDG_DATA_HOME", ".local/share")


def config_folder() -> Path:
    """The folder of the user's settings, as the XDG base directories have it."""
    return folder("XDG_CONFIG_HOME", ".config")


def folder(variable: str, otherwise: str) -> Path:
    """The folder that a variable of the environment names, or one below the user's own."""
    named = os.environ.get(variable, "")
    # A path that is not absolute is to be ignored, as the XDG base directories say.
    return Path(named) if named.startswith("/") else Path.home() / otherwise


def install(text: str, path: Path, what: str) -> None:
    """Writes a file, in place of what is there, and says where it is and what it is good for."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise Error(f"{path}: can't be written: {error.strerror}") from None
    click.echo(f"{path}: {what}")
