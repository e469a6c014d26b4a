"""The page of a figure, in Markdown: claims beside measured values, pictures, tables, how to get them again."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from clearway import _clearway
from clearway.reproduce.claims import Finding
from clearway.reproduce.figure import Figure, Reproduction
from clearway.texts import Texts
from clearway.units import digits

MARKS = {"reproduced": "yes", "not reproduced": "**no**", "not decidable": "open"}


def finding_texts(findings: list[Finding]) -> Texts:
    """Claims beside what was measured."""
    rows = [[one.claim.id, one.claim.text, one.measured, one.verdict, one.note] for one in findings]
    return ["claim", "paper", "measured", "verdict", "remark"], rows


def page(found: Reproduction, images: Path, at: Path) -> str:
    """The page, to be written to `at`; its pictures are in `images`."""
    figure = found.figure
    head, rows = finding_texts(found.findings)
    said = {one.claim.id: one.claim for one in found.findings}
    parts = [
        f"<!-- Written by `clearway reproduce {figure.name} --docs`. Change python/clearway/reproduce instead. -->",
        f"# {figure.title}",
        f"`clearway reproduce {figure.name} --scale {found.scale}` ({found.runs:,} simulations, "
        f"{digits(found.cpu_s)} CPU-seconds, Clearway {_clearway.__version__})",
        "## Claims",
        table_md(head, [[f"`{row[0]}`", *row[1:3], MARKS[row[3]], row[4]] for row in rows]),
        "\n".join(f"* `{name}` ({one.source}): {one.what}" for name, one in said.items()),
        f"## What agrees, what does not, and why\n\n{figure.reading.strip()}",
        "## Pictures",
        *pictures_md(figure, images, at),
        "## Numbers",
        *(f"{caption}\n\n{frame_md(found.tables[name])}" for name, caption in figure.shown.items()),
        f"## How it was done\n\n{figure.doc.strip()}",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def pictures_md(figure: Figure, images: Path, at: Path) -> list[str]:
    """The pictures with their captions."""
    base = Path(os.path.relpath(images.resolve(), at.resolve().parent)).as_posix()
    return [
        f"![{caption}]({base}/{figure.slug}-{name}.svg)\n\n*{caption}*" for name, caption in figure.captions.items()
    ]


def frame_md(table: pl.DataFrame) -> str:
    """A data frame as a table."""
    head = [name.replace("_", " ") for name in table.columns]
    return table_md(head, [[cell(value) for value in row] for row in table.iter_rows()])


def cell(value: object) -> str:
    """A value of a table."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else digits(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table_md(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(" ".join(text.replace("|", "\\|").split()) for text in line) + " |" for line in lines
    )
