"""Turns a notebook into Markdown, with the outputs that it holds; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def markdown(path: Path) -> str:
    """A notebook as a page."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    parts: list[str] = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source.strip():
            parts.append(fence("python", source))
            parts += [shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """An output in its richest form: a picture or table, or else text."""
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return fence("{raw} html", f'<div class="output">{"".join(data[kind])}</div>')
    return fence("text", "".join(data.get("text/plain", output.get("text", ""))))


def fence(kind: str, text: str) -> str:
    """A fenced block that no line of its text ends."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{kind}\n{text.rstrip()}\n{ticks}"
