"""Texts as files, such as pages, which replace an earlier text whole."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from clearway._clearway import Error


def write_text(text: str, out: Path, what: str) -> Path:
    """Writes a text in place of an earlier one, which stays whole until the new one is; `what` names it in errors."""
    if not out.name or out.is_dir():
        raise Error(f"{out}: can't write {what}: this is a folder; name a file, such as {out / 'page.html'}")
    if out.exists() and not out.is_file():
        raise Error(f"{out}: can't write {what}: this is a device or a pipe; name a file")
    scratch = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, "utf-8", newline="\n")
        scratch.replace(out)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise Error(f"{out}: can't write {what}: {error.strerror}") from None
    return out
