"""The tables of a page of documents: what stands there between two marks is written anew."""

from __future__ import annotations

from pathlib import Path

from clearway import _clearway, units
from clearway._clearway import Error
from clearway.parity.case import Case
from clearway.parity.lists import BUCKET_LIMITS, Row

END = "<!-- end -->"


def mark(case: Case) -> str:
    """The line before a case's tables."""
    return f"<!-- parity: {case.name} -->"


def rewrite(path: Path, case: Case, parts: list[list[Row]]) -> None:
    """Puts a case's table into its place on the page, if it has one there."""
    text = path.read_text(encoding="utf-8")
    before, begun, rest = text.partition(mark(case))
    _, ended, after = rest.partition(END)
    if not begun:
        return
    if not ended:
        raise Error(f"{path}: write the line {END} where the tables of {mark(case)} end")
    path.write_text(f"{before}{begun}\n\n{table(case, parts)}\n{ended}{after}", encoding="utf-8")


def table(case: Case, parts: list[list[Row]]) -> str:
    """A row for each list and size that has reference numbers."""
    rows = [row for part in parts for row in part if row.agrees is not None]
    seeds = max((len(row.seeds) for row in rows), default=0)
    lines = [
        f"`clearway parity {case.name}`, Clearway {_clearway.__version__}, medians over {seeds} seeds; "
        f"{case.simulator}. {sum(row.agrees is True for row in rows)} of {len(rows)} rows agree: the mean within "
        f"{BUCKET_LIMITS['mean_s']:.0%} and the 99th percentile within {BUCKET_LIMITS['p99_s']:.0%}.",
        "",
        "| list | size | flows | mean FCT | theirs | ratio | by seed | p99 FCT | theirs | ratio | by seed | agrees |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> list[str]:
    """The cells of a row as texts."""
    means = [mean / row.reference_mean_s for mean, _ in row.seeds]
    tails = [p99 / row.reference_p99_s for _, p99 in row.seeds]
    return [
        row.flow_list,
        row.bucket,
        units.count(row.flows),
        units.seconds(row.mean_s),
        units.seconds(row.reference_mean_s),
        units.digits(row.mean_ratio),
        f"{units.digits(min(means))} to {units.digits(max(means))}",
        units.seconds(row.p99_s),
        units.seconds(row.reference_p99_s),
        units.digits(row.p99_ratio),
        f"{units.digits(min(tails))} to {units.digits(max(tails))}",
        "yes" if row.agrees else "no",
    ]
