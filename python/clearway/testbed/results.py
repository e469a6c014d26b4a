"""Results of an experiment: tables, verdicts, series for pictures; as files and as a part of docs/evidence/linux.md."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clearway import _clearway
from clearway._clearway import Error
from clearway.testbed import shares

Cell = str | int | float | bool | None
END = "<!-- end -->"
#: The beginning of the verdict on the shares of bytes under control.
SHARES_ASKED = "Each row of a daemon is what it is called: the daemon controlled"


@dataclass(frozen=True)
class Verdict:
    """An answer to one thing that the experiment must show."""

    #: One sentence that says what was asked, with its bound.
    asked: str
    #: The number that was measured, with its unit.
    measured: str
    met: bool

    @property
    def is_on_shares(self) -> bool:
        """True if it is the verdict on the shares of bytes under control."""
        return self.asked.startswith(SHARES_ASKED)


@dataclass(frozen=True)
class Table:
    """A table with a caption. Floats are shown with as many digits as `digits` says."""

    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    digits: int = 1

    @property
    def heading(self) -> str:
        """The caption with what a reader must know of the bytes under control, and the TCP underneath."""
        return shares.heading(self.caption, self.columns, self.rows)

    def csv(self) -> str:
        """The table as CSV, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def texts(self) -> list[list[str]]:
        """The rows as words."""
        return [[self._text(cell) for cell in row] for row in self.rows]

    def markdown(self) -> str:
        """The table as Markdown."""
        numeric = [all(not isinstance(row[i], str) for row in self.rows) for i in range(len(self.columns))]
        lines = [
            "| " + " | ".join(self.columns) + " |",
            "|" + "|".join("--:" if one else "---" for one in numeric) + "|",
        ]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in self.texts())])

    def _text(self, cell: Cell) -> str:
        match cell:
            case None:
                return "–"
            case bool():
                return "yes" if cell else "no"
            case float():
                return "–" if math.isnan(cell) else f"{cell:,.{self.digits}f}"
            case int():
                return f"{cell:,}"
        return cell


@dataclass
class Results:
    """All that an experiment gave."""

    name: str
    title: str
    #: The day on which it ran, and how long that took.
    day: str = ""
    seconds: float = 0.0
    #: The share of its full durations that were run: 1 for the results of record.
    scale: float = 1.0
    machine: dict[str, str] = field(default_factory=dict)
    #: A sentence on what else the machine did.
    load: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    #: A sentence on when the shares of bytes under control were measured, if not with the other figures.
    shares_from: str = ""
    #: Sentences that explain the numbers.
    notes: list[str] = field(default_factory=list)
    #: Columns of numbers for pictures.
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def verdict(self, asked: str, measured: str, met: bool) -> None:
        """Adds a verdict."""
        self.verdicts.append(Verdict(asked, measured, bool(met)))

    def judge_shares(self) -> None:
        """Gives the verdict on the shares of bytes under control of all tables, if they have some."""
        self.verdicts = [one for one in self.verdicts if not one.is_on_shares]
        found = [one for table in self.tables.values() for one in shares.shares(table.columns, table.rows)]
        if not found:
            return
        name, _, least = min(found, key=lambda one: one[2])
        self.verdict(
            f"{SHARES_ASKED} at least {shares.LEAST_PERCENT:g} % of the bytes.",
            f'the least is {shares.percent(least)}, of "{name}"',
            least >= shares.LEAST_PERCENT,
        )

    def circumstances(self) -> str:
        """When, where and beside what the results were measured, as the rest of a sentence."""
        scale = "" if self.scale == 1 else f" with durations of {self.scale:.0%}"
        host = f"Linux {self.machine['kernel']}, {self.machine['processors']}"
        return f"{scale} on {self.day} in {self.seconds:.0f} s on {host}. {self.load}"

    def share_words(self) -> str:
        """The range of the shares of bytes under control in words, or nothing."""
        return shares.span([one for table in self.tables.values() for one in shares.shares(table.columns, table.rows)])

    @property
    def met(self) -> bool:
        """True if all is met that was asked."""
        return all(verdict.met for verdict in self.verdicts)

    def json(self) -> str:
        """The results as JSON; numbers that are none become null."""
        return json.dumps(without_nan(asdict(self)), indent=1, ensure_ascii=False) + "\n"

    def write(self, folder: Path) -> None:
        """Writes `results.json` and each table as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(self.json(), "utf-8")
        for name, table in self.tables.items():
            (folder / f"{name}.csv").write_text(table.csv(), "utf-8")


def load(path: Path) -> Results:
    """Reads results."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        found["verdicts"] = [Verdict(**one) for one in found["verdicts"]]
        found["tables"] = {name: Table(**one) for name, one in found["tables"].items()}
        return Results(**found)
    except (ValueError, KeyError, TypeError) as error:
        raise Error(f"{path}: these are no results of a testbed: {error}") from None


def without_nan(value: Any) -> Any:
    """A value in which numbers have six digits at most, and those that are none became None."""
    match value:
        case float():
            return float(f"{value:.6g}") if math.isfinite(value) else None
        case dict():
            return {key: without_nan(one) for key, one in value.items()}
        case list() | tuple():
            return [without_nan(one) for one in value]
    return value


def machine() -> dict[str, str]:
    """The machine that measures."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    return {
        "kernel": platform.release(),
        "processors": f"{os.cpu_count()} x {model[1] if model else platform.machine()}",
        "clearway": _clearway.__version__,
    }


def part(results: Results, pictures: Sequence[tuple[str, str]]) -> str:
    """The part of a page that tells of results: verdicts, tables, pictures (`(file, words)`), notes, load."""
    lines = ["| asked | measured | met |", "|---|---|---|"]
    lines += [f"| {one.asked} | {one.measured} | {'yes' if one.met else '**no**'} |" for one in results.verdicts]
    parts = ["\n".join(lines)] if results.verdicts else []
    parts += [f"{table.heading}\n\n{table.markdown()}" for table in results.tables.values()]
    parts += [f"![{words}](../img/{file})" for file, words in pictures]
    if results.notes:
        parts.append("\n".join(f"* {note}" for note in results.notes))
    parts.append(f"Measured{results.circumstances()}")
    if results.shares_from:
        parts.append(results.shares_from)
    return "\n\n".join(parts) + "\n"


def mark(name: str) -> str:
    """The line of a page before the part of an experiment."""
    return f"<!-- testbed: {name} -->"


def rewrite(page: Path, parts: Mapping[str, str]) -> None:
    """Puts parts into their places on a page; raises `Error` if the page has no place for one."""
    text = page.read_text("utf-8")
    for name, new in parts.items():
        before, begun, rest = text.partition(mark(name) + "\n")
        _, ended, after = rest.partition(END)
        if not begun or not ended:
            raise Error(f"{page}: write the lines {mark(name)} and {END} where the part of {name} belongs")
        text = f"{before}{begun}\n{new}\n{END}{after}"
    page.write_text(text, "utf-8")


def part_on(page: str, name: str) -> str | None:
    """The part of an experiment as a page has it, or None."""
    _, begun, rest = page.partition(mark(name) + "\n")
    inside, ended, _ = rest.partition(END)
    return inside.strip() + "\n" if begun and ended else None


def thinned(values: Sequence[float] | Any, points: int = 1500) -> list[float]:
    """At most so many values, evenly chosen: what a picture can show."""
    step = max(1, -(-len(values) // points))
    return [float(value) for value in values[::step]]


def quantiles(values: Any, points: int = 200) -> dict[str, list[float]]:
    """The distribution of values as a curve: the values at evenly spaced shares."""
    import numpy as np

    if len(values) == 0:
        return {"share": [], "value": []}
    shares = np.concatenate([np.linspace(0, 0.99, points), np.linspace(0.9905, 1, 20)])
    return {"share": [float(one) for one in shares], "value": [float(one) for one in np.quantile(values, shares)]}
