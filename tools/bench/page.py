"""The page `docs/results/speed.md`, written from what `measure` and `against` found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import shares
from measure import shown
from runs import ProblemError

ROOT = Path(__file__).parent.parent.parent
#: The measurements that the page shows.
DATA = ROOT / "docs" / "data" / "speed"
PAGE = ROOT / "docs" / "results" / "speed.md"
TEMPLATE = Path(__file__).parent / "speed.md"

#: Columns as (heading, key, form, factor).
COLUMNS = (
    ("M tx", "link_transmissions", ",.1f", 1e-6),
    ("M tx/CPU-s", "million_tx_per_cpu_s", ".2f", 1.0),
    ("% bare", "share_of_bare", ".0f", 100.0),
    ("instructions/tx", "instructions_per_tx", ",.0f", 1.0),
    ("events/tx", "events_per_tx", ".2f", 1.0),
    ("bytes fetched/tx", "fetched_bytes_per_tx", ",.0f", 1.0),
    ("threads' speedup", "speedup", ".2f", 1.0),
    ("set-up, CPU-s", "setup_cpu_s", ".2f", 1.0),
    ("MB", "peak_bytes", ",.0f", 1e-6),
    ("bytes/flow", "bytes_per_flow", ",.0f", 1.0),
)


class Goal(NamedTuple):
    """A figure to reach: the least one if more is better, and the greatest otherwise."""

    name: str
    case: str
    key: str
    bound: float
    form: str = ",.0f"
    factor: float = 1.0
    unit: str = ""
    more: bool = False


def share(hosts: int, bound: int) -> Goal:
    """The goal of a share of the bare loop under DCTCP."""
    name = f"share of the bare loop, DCTCP, {hosts:,} hosts"
    return Goal(name, f"permutation-{hosts}-dctcp", "share_of_bare", bound, factor=100, unit=" %", more=True)


GOALS = (
    share(128, 65),
    share(1024, 65),
    share(8192, 75),
    Goal("instructions a transmission, DCTCP, 128 hosts", "permutation-128-dctcp", "instructions_per_tx", 380),
    Goal("the same of ExpressPass", "permutation-128-expresspass", "instructions_per_tx", 450),
    Goal("web search, 20,000 flows, ExpressPass", "websearch-192-20k-expresspass", "cpu_s", 25, unit=" CPU-s"),
    Goal(
        "two threads, 1,024 hosts, elapsed time",
        "permutation-1024-dctcp-2threads",
        "speedup",
        1.75,
        ".2f",
        unit=" times as fast",
        more=True,
    ),
    Goal(
        "16 threads, 8,192 hosts, as follows from shares",
        "permutation-8192-dctcp",
        "follows_16",
        11,
        ".1f",
        unit=" times as fast",
        more=True,
    ),
    Goal("memory of an active flow, DCTCP", "active-flows-dctcp", "bytes_per_flow", 1000, unit=" B"),
    Goal("memory of an active flow, ExpressPass", "active-flows-expresspass", "bytes_per_flow", 1000, unit=" B"),
    Goal("65,536 hosts without flows, most at any time", "idle-65536", "peak_bytes", 200, factor=1e-6, unit=" MB"),
    Goal("65,536 hosts, until each has started a flow", "starting-65536-dctcp", "cpu_s", 1, ".1f", unit=" CPU-s"),
    Goal("65,536 hosts, the same", "starting-65536-dctcp", "run_bytes", 200, factor=1e-6, unit=" MB"),
    Goal("10,000,000 flows of 1 KB", "short-1e7-dctcp", "peak_bytes", 1000, factor=1e-6, unit=" MB"),
)


def rows_of(lines: list[list[str]]) -> str:
    """A table in Markdown, whose first column is text and whose others are numbers."""
    head, *body = lines
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))


def machine_of(found: dict[str, Any]) -> str:
    """The sentence that says on what, of what and when the figures were measured."""
    machine, build = found["machine"], found["build"]
    rounds = found["rounds"]
    often = "Each case ran once" if rounds == 1 else f"Each case ran {rounds} times, and the least CPU time counts"
    if found["scale"] != 1:
        often += f", at {found['scale']:g} of its length"
    return (
        f"The figures are of a **{build['kind']}** build of commit `{build['commit'][:10]}` with {build['rustc']}, "
        f"measured on {found['day']} on {machine['processors']} processors ({machine['processor']}) with "
        f"{machine['memory_gb']} GB that other work shared as it happened to. {often}."
    )


def table_of(found: dict[str, Any]) -> str:
    """The table of all cases."""
    lines = [["case", *(heading for heading, *_ in COLUMNS), "hash"]]
    for row in found["cases"]:
        cells = [shown(row.get(key), form, factor) for _, key, form, factor in COLUMNS]
        lines.append([f"`{row['name']}`", *cells, f"`{row['hash'][:12]}`" if row["hash"] else "-"])
    return rows_of(lines)


def goals_of(found: dict[str, Any], split: dict[str, Any] | None) -> str:
    """The table of goals, each with what was measured."""
    cases = {row["name"]: dict(row) for row in found["cases"]}
    for row in split["shares"] if split else ():
        cases.setdefault(row["name"], {})[f"follows_{row['threads']}"] = row["follows"]
    lines = [["goal", "to reach", "measured", "reached"]]
    for goal in GOALS:
        measured = cases.get(goal.case, {}).get(goal.key)
        value = None if measured is None else measured * goal.factor
        reached = "-"
        if value is not None:
            reached = "yes" if (value >= goal.bound if goal.more else value <= goal.bound) else "**no**"
        wanted = f"{'at least' if goal.more else 'at most'} {goal.bound:,}{goal.unit}"
        lines.append([goal.name, wanted, "-" if value is None else format(value, goal.form) + goal.unit, reached])
    return rows_of(lines)


def against_of(found: dict[str, Any] | None) -> str:
    """The table of ratios between two builds."""
    if found is None:
        return "No comparison of builds has been measured yet (`make bench-against`)."
    this, other = (f"a {found[word]['kind']} build of `{found[word]['commit'][:10]}`" for word in ("this", "other"))
    lines = [["case", "times as fast", "95 % interval", "ratio of the best runs"]]
    for row in found["cases"]:
        low, high = (format(end, ".2f") for end in row["interval"])
        best = format(row["ratio_of_bests"], ".2f")
        lines.append([f"`{row['name']}`", format(row["ratio"], ".2f"), f"{low} to {high}", best])
    return (
        f"`make bench-against` runs two programs in turns, here {this} beside {other}, {found['rounds']} times each on "
        f"{found['day']}. A ratio is the median of the rounds' ratios of link transmissions per CPU-second (of CPU "
        "time alone where nothing is sent), and its interval comes from a bootstrap over the rounds. The geometric "
        f"mean is {found['geometric_mean']:.2f}.\n\n{rows_of(lines)}"
    )


def shares_of(found: dict[str, Any] | None) -> str:
    """The table of shares of work and waiting on several threads."""
    if found is None:
        return "No shares have been measured yet (`make bench-shares`)."
    lines = [["case", *(heading for heading, *_ in shares.COLUMNS)]]
    for row in found["shares"]:
        cells = [shown(row[key], form, factor) for _, key, form, factor in shares.COLUMNS]
        lines.append([f"`{row['name']}`", *cells])
    return f"{machine_of(found)}\n\n{rows_of(lines)}"


def beside(name: str) -> dict[str, Any] | None:
    """What was measured besides the cases, if it was."""
    file = DATA / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else None


def render() -> str:
    """The page."""
    measured = DATA / "cases.json"
    if not measured.exists():
        raise ProblemError(f"{measured}: is not there; `make bench-page` makes it from out/bench.json")
    found = json.loads(measured.read_text("utf-8"))
    against, split = (beside(name) for name in ("against", "shares"))
    parts = {
        "machine": machine_of(found),
        "table": table_of(found),
        "goals": goals_of(found, split),
        "shares": shares_of(split),
        "against": against_of(against),
    }
    text = TEMPLATE.read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


def write(cases: Path | None, against: Path | None, split: Path | None) -> None:
    """Takes over new measurements, if files with them are named, and writes the page."""
    DATA.mkdir(parents=True, exist_ok=True)
    for source, name in ((cases, "cases.json"), (against, "against.json"), (split, "shares.json")):
        if source:
            (DATA / name).write_bytes(source.read_bytes())
    PAGE.write_text(render(), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")


def check() -> bool:
    """Answers whether the page is what its measurements give; says so if not."""
    if PAGE.read_text("utf-8") == render():
        return True
    print(f"{PAGE.relative_to(ROOT)}: is not what docs/data/speed gives; `python3 tools/bench page` writes it")
    return False
