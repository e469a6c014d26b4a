"""The tables of a page of documents: what stands there between two marks is written anew."""

from __future__ import annotations

import math
from pathlib import Path

from clearway import _clearway, units
from clearway._clearway import Error
from clearway.parity.case import Case
from clearway.parity.judge import P99_FLOWS, Interval
from clearway.parity.lists import Row

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
    rows = [row for part in parts for row in part if row.measures]
    seeds = max((len(row.draws) for row in rows), default=0)
    theirs = sorted({len(row.reference) for row in rows})
    runs = " or ".join(f"{count} run{'s' if count > 1 else ''}" for count in theirs)
    lines = [
        f"`clearway parity {case.name}`, Clearway {_clearway.__version__}, {seeds} seeds; {case.simulator}, {runs} of "
        f"each list. {sum(row.agrees is True for row in rows)} of {len(rows)} rows agree.",
        "",
        "| list | size | flows | mean FCT | theirs | ratio | verdict | p99 FCT | theirs | ratio | verdict |",
        "|---|---|--:|--:|--:|--:|---|--:|--:|--:|---|",
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join([*lines, *footnotes(rows)]) + "\n"


def cells(row: Row) -> list[str]:
    """The cells of a row as texts."""
    return [row.flow_list, row.bucket, units.count(row.flows), *columns(row, "mean"), *columns(row, "p99")]


def columns(row: Row, name: str) -> list[str]:
    """Ours, theirs, their ratio and the verdict of a measure."""
    both = row.measures.get(name)
    if both is None:
        return [units.NONE] * 4
    return [within(both.ours), within(both.theirs), units.digits(both.ratio), verdict(row, name)]


def within(side: Interval) -> str:
    """A mean with half of its interval, if it has one: `13.7 us +- 0.2`."""
    if math.isnan(side.low):
        return units.seconds(side.mean)
    return f"{units.seconds(side.mean)} ± {units.digits(100 * (side.high - side.mean) / side.mean)} %"


def verdict(row: Row, name: str) -> str:
    """The verdict on a measure in words."""
    both = row.measures[name]
    if row.unfinished:
        return f"{units.count(row.unfinished)} flows did not end"
    if both.agrees is None:
        return "no interval"
    if both.agrees:
        return "agrees"
    low, high = (f"{100 * share:+.1f}" for share in both.apart)
    return f"differs by {low} to {high} %" + (", cause known" if name in row.causes else "")


def footnotes(rows: list[Row]) -> list[str]:
    """The notes below a table: on percentiles that are left out, on intervals that are borrowed, and on causes."""
    notes = []
    if any(not row.has_p99 for row in rows):
        notes.append(f"{units.NONE}: a 99th percentile of fewer than {P99_FLOWS} flows is not stated.")
    if any(len(row.reference) == 1 for row in rows):
        notes.append("Of a list that ran once there, the interval is that of a single run which scatters as ours do.")
    causes = dict.fromkeys(cause for row in rows for name, cause in row.causes.items() if name in row.differs)
    notes += [f"Cause: {cause}" for cause in causes]
    return [line for note in notes for line in ("", note)]
