"""The page of a figure, in Markdown: claims beside measured values, pictures, tables, how to get them again."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from clearway import _clearway
from clearway.reproduce.claims import Finding
from clearway.reproduce.figure import Figure, Reproduction
from clearway.reproduce.scale import share_text
from clearway.texts import Texts
from clearway.units import digits


def finding_texts(findings: list[Finding]) -> Texts:
    """Claims beside what was measured."""
    head = ["claim", "paper", "measured", "reading", "tolerance", "seeds", "verdict", "remark"]
    return head, [
        [
            one.claim.id,
            one.claim.text,
            one.measured,
            one.reading,
            one.claim.tolerance_text,
            str(one.seeds) if one.seeds > 1 else "-",
            one.verdict,
            one.remark,
        ]
        for one in findings
    ]


def brief_texts(findings: list[Finding]) -> Texts:
    """Claims beside what was measured, in few enough columns for a terminal."""
    rows = [[one.claim.id, one.claim.text, one.measured, one.verdict, one.remark] for one in findings]
    return ["claim", "paper", "measured", "verdict", "remark"], rows


def page(found: Reproduction, images: Path, at: Path, result: str) -> str:
    """The page, to be written to `at`; its pictures are in `images`. `result` is the hash of the record beside it."""
    figure = found.figure
    head, rows = finding_texts(found.findings)
    said = {one.claim.id: one.claim for one in found.findings}
    commit = _clearway.__commit__ or "unknown"
    parts = [
        f"<!-- Written by `clearway reproduce {figure.name} --docs`. Change python/clearway/reproduce instead. -->",
        f"# {figure.title}",
        f"`clearway reproduce {figure.name} --scale {found.scale}`: {runs_text(found)}{size_text(found)}; Clearway "
        f"{_clearway.__version__} at commit `{commit[:10]}`, result `{result[:12]}`.",
        "## Claims" if rows else "",
        table_md(head, [[f"`{row[0]}`", *row[1:6], bold(row[6]), row[7]] for row in rows]) if rows else "",
        "\n".join(f"* `{name}` ({one.source}): {one.what}" for name, one in said.items()),
        "[The rule](../verdicts.md) says what a verdict means." if rows else "",
        smaller_md(found),
        f"## What agrees, what does not, and why\n\n{figure.prose(found.tables).strip()}",
        "## Pictures" if figure.captions else "",
        *pictures_md(figure, images, at),
        "## Numbers" if figure.shown else "",
        *(f"{caption}\n\n{frame_md(found.tables[name])}" for name, caption in figure.shown.items()),
        f"## How it was done\n\n{figure.doc.strip()}",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def runs_text(found: Reproduction) -> str:
    """The words for how many simulations a figure took, with how many seeds."""
    if not found.runs:
        return "no simulation"
    seeds = sorted({one.seeds for one in found.findings if one.seeds > 1})
    drawn = f", {seeds[0]} seeds where anything is drawn" if seeds else ""
    return f"{found.runs:,} simulations{drawn}, {digits(found.cpu_s)} CPU-seconds"


def size_text(found: Reproduction) -> str:
    """The words for how large its largest simulation is beside the paper's."""
    return f", the largest of {share_text(found.share)}" if found.runs else ""


def smaller_md(found: Reproduction) -> str:
    """A table of the results at smaller sizes, to show where the numbers lead; empty without any."""
    if not found.smaller or not found.findings:
        return ""
    sizes = [*found.smaller, (found.share, found.findings)]
    head = ["claim", *(share_text(share) for share, _ in sizes)]
    said = [{one.claim.id: f"{one.measured}: {one.verdict}" for one in findings} for _, findings in sizes]
    rows = [[f"`{one.claim.id}`", *(size.get(one.claim.id, "-") for size in said)] for one in found.findings]
    return "At smaller sizes the same claims come out so; the last column decides.\n\n" + table_md(head, rows)


def bold(verdict: str) -> str:
    """A verdict in Markdown; one that was not reproduced stands out."""
    return f"**{verdict}**" if verdict == "not reproduced" else verdict


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
