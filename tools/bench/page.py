"""The page `docs/results/speed.md`, written from what `measure` and `against` found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import shares
from measure import ns_per_tx, shown
from runs import ProblemError

ROOT = Path(__file__).parent.parent.parent
#: The measurements that the page shows, those of guided builds with a name of their own.
DATA = ROOT / "docs" / "data" / "speed"
GUIDED = "profile-guided"
#: How many times as fast as the build of before each case is to be.
FASTER = 1.6
PAGE = ROOT / "docs" / "results" / "speed.md"
TEMPLATE = Path(__file__).parent / "speed.md"

#: Columns as (heading, key, form, factor).
COLUMNS = (
    ("M tx", "link_transmissions", ",.1f", 1e-6),
    ("M tx/CPU-s", "million_tx_per_cpu_s", ".2f", 1.0),
    ("ns/tx", "ns_per_tx", ".1f", 1.0),
    ("instructions/tx", "instructions_per_tx", ",.0f", 1.0),
    ("mispredictions/tx", "mispredictions_per_tx", ".2f", 1.0),
    ("data misses/tx", "data_misses_per_tx", ".2f", 1.0),
    ("instruction misses/tx", "instruction_misses_per_tx", ".2f", 1.0),
    ("events/tx", "events_per_tx", ".2f", 1.0),
    ("bytes fetched/tx", "fetched_bytes_per_tx", ",.0f", 1.0),
    ("threads' speedup", "speedup", ".2f", 1.0),
    ("set-up, CPU-s", "setup_cpu_s", ".2f", 1.0),
    ("MB", "peak_bytes", ",.0f", 1e-6),
    ("bytes/flow", "bytes_per_flow", ",.0f", 1.0),
)
#: What callgrind counts a transmission: the same on each machine, so that it may be of a newer build than times are.
COUNTS = (
    "instructions_per_tx",
    "mispredictions_per_tx",
    "data_misses_per_tx",
    "instruction_misses_per_tx",
    "fetched_bytes_per_tx",
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

    def is_reached(self, value: float | None) -> bool:
        """Answers whether a figure was measured and reaches the goal."""
        return value is not None and (value >= self.bound if self.more else value <= self.bound)

    def shown(self, value: float | None) -> str:
        """A measured figure with its unit."""
        return "-" if value is None else format(value, self.form) + self.unit


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


def machine_of(found: dict[str, Any], figures: str = "The figures") -> str:
    """The sentence that says on what, of what and when these figures were measured."""
    machine, build = found["machine"], found["build"]
    rounds = found["rounds"]
    often = "Each case ran once" if rounds == 1 else f"Each case ran {rounds} times, and the least CPU time counts"
    if found["scale"] != 1:
        often += f", at {found['scale']:g} of its length"
    return (
        f"{figures} are of a **{build['kind']}** build of commit `{build['commit'][:10]}` with {build['rustc']}, "
        f"measured on {found['day']} on {machine['processors']} processors ({machine['processor']}) with "
        f"{machine['memory_gb']} GB that other work shared as it happened to. {often}."
    )


def counts_in(found: dict[str, Any]) -> dict[str, Any]:
    """What callgrind counted in a measurement, with its build and day."""
    cases = {row["name"]: {key: row[key] for key in COUNTS if key in row} for row in found["cases"]}
    return {key: found[key] for key in ("build", "day")} | {"cases": {name: row for name, row in cases.items() if row}}


def with_counts(found: dict[str, Any], counts: dict[str, Any] | None) -> dict[str, Any]:
    """A measurement with the counts of a newer build, where these were taken apart from it."""
    newer = counts["cases"] if counts else {}
    return found | {"cases": [row | newer.get(row["name"], {}) for row in found["cases"]]}


def counts_of(counts: dict[str, Any] | None) -> str:
    """The sentence that says of which build the counts are, if not of the one whose times stand beside them."""
    if counts is None:
        return ""
    build = counts["build"]
    return (
        " Instructions, mispredictions, misses and bytes fetched are those of commit "
        f"`{build['commit'][:10]}`, counted on {counts['day']}."
    )


def table_of(found: dict[str, Any]) -> str:
    """The table of all cases."""
    lines = [["case", *(heading for heading, *_ in COLUMNS), "hash"]]
    for row in found["cases"]:
        values = row | {"ns_per_tx": ns_per_tx(row)}
        cells = [shown(values.get(key), form, factor) for _, key, form, factor in COLUMNS]
        lines.append([f"`{row['name']}`", *cells, f"`{row['hash'][:12]}`" if row["hash"] else "-"])
    return rows_of(lines)


def goals_of(found: dict[str, Any], guided: dict[str, Any] | None, split: dict[str, Any] | None) -> str:
    """The table of goals, each with what was measured of the plain build and of the guided one."""
    plain = {row["name"]: dict(row) for row in found["cases"]}
    for row in split["shares"] if split else ():
        plain.setdefault(row["name"], {})[f"follows_{row['threads']}"] = row["follows"]
    builds = (plain, {row["name"]: row for row in guided["cases"]} if guided else {})
    lines = [["goal", "to reach", "plain", "profile-guided", "reached"]]
    for goal in GOALS:
        measured = [cases.get(goal.case, {}).get(goal.key) for cases in builds]
        values = [None if value is None else value * goal.factor for value in measured]
        is_reached, is_reached_guided = (goal.is_reached(value) for value in values)
        reached = "yes" if is_reached else "guided" if is_reached_guided else "**no**"
        wanted = f"{'at least' if goal.more else 'at most'} {goal.bound:,}{goal.unit}"
        shown = [goal.shown(value) for value in values]
        lines.append([goal.name, wanted, *shown, reached if set(values) != {None} else "-"])
    return rows_of(lines)


def against_of(found: list[dict[str, Any]]) -> str:
    """The table of ratios between builds, and what was compared."""
    if not found:
        return "No comparison of builds has been measured yet (`make bench-against`)."
    told, sums, head = [], [], ["case"]
    for builds in found:
        kind = builds["this"]["kind"]
        this, other = (
            f"a {builds[word]['kind']} build of `{builds[word]['commit'][:10]}`" for word in ("this", "other")
        )
        scale = "" if builds["scale"] == 1 else f", cases at {builds['scale']:g} of their length"
        told.append(f"{this} beside {other}, {builds['rounds']} times each on {builds['day']}{scale}")
        ours = [row["ratio"] for row in builds["cases"] if not row["name"].startswith("bare")]
        sums.append(
            f"The geometric mean of the {kind} build is {builds['geometric_mean']:.2f}, bare loops included, and "
            f"{sum(ratio >= FASTER for ratio in ours)} of its {len(ours)} other cases are at least {FASTER:g} times as "
            "fast."
        )
        head += [f"{kind}: times as fast", "95 % interval", "best runs"]
    columns = [{row["name"]: ratio_of(row) for row in builds["cases"]} for builds in found]
    lines = [
        head,
        *([f"`{name}`", *(cell for rows in columns for cell in rows.get(name, "---"))] for name in columns[0]),
    ]
    return (
        f"`make bench-against` runs two programs in turns: {'; '.join(told)}. A ratio is the median of the rounds' "
        "ratios of link transmissions per CPU-second (of CPU time alone where nothing is sent), and its interval comes "
        "from a bootstrap over the rounds. The last column of each build is the ratio of the best runs. "
        f"{' '.join(sums)}\n\n{rows_of(lines)}"
    )


def ratio_of(row: dict[str, Any]) -> tuple[str, str, str]:
    """The cells of a case: the ratio, its interval, and that of the best runs."""
    low, high = (format(end, ".2f") for end in row["interval"])
    return format(row["ratio"], ".2f"), f"{low} to {high}", format(row["ratio_of_bests"], ".2f")


def peers_of(found: dict[str, Any] | None) -> str:
    """The table of ratios to the programs of htsim, as `make bench-peers` measured them last."""
    if found is None:
        return "Its figures are not kept here yet: those below were measured by hand."
    lines = [["both ran", "Clearway is faster by a factor of", "95 % interval", "mean completion, us", "theirs"]]
    for row in found["comparisons"]:
        low, high = (format(end, ".1f") for end in row["interval"])
        means = (format(row[f"{who}_mean_us"], ".1f") for who in ("ours", "theirs"))
        lines.append([f"`{row['name']}`", format(row["ratio"], ".1f"), f"{low} to {high}", *means])
    here, build = found["machine"], found["build"]
    return (
        f"A {build['kind']} build of `{build['commit'][:10]}` ran {found['rounds']} times beside each program on "
        f"{found['day']}, on {here['processors']} processors ({here['processor']}) whose load average was "
        f"{found['load_average'][0]:.1f} at the start. A ratio is the median of the rounds' ratios.\n\n"
        f"{rows_of(lines)}"
    )


def shares_of(found: dict[str, Any] | None) -> str:
    """The table of shares of work and waiting on several threads."""
    if found is None:
        return "No shares have been measured yet (`make bench-shares`)."
    lines = [["case", *(heading for heading, *_ in shares.COLUMNS)]]
    for row in found["shares"]:
        cells = [shown(row.get(key), form, factor) for _, key, form, factor in shares.COLUMNS]
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
    guided, split = (beside(name) for name in ("cases-guided", "shares"))
    counts = beside("counts")
    found = with_counts(found, counts)
    against = [builds for builds in (beside(name) for name in ("against", "against-guided")) if builds]
    parts = {
        "machine": machine_of(found) + counts_of(counts),
        "table": table_of(found),
        "goals": goals_of(found, guided, split),
        "guided": machine_of(guided, "The figures in its column")
        if guided
        else "Of a profile-guided build nothing has been measured yet.",
        "shares": shares_of(split),
        "against": against_of(against),
        "peers": peers_of(beside("peers")),
    }
    text = TEMPLATE.read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


def place_of(name: str, source: Path) -> Path:
    """Where a file of measurements belongs: those of a guided build and of a plain one stand beside each other."""
    found = json.loads(source.read_text("utf-8"))
    build = found["this"] if name == "against" else found["build"]
    return DATA / f"{name}{'-guided' if build['kind'] == GUIDED else ''}.json"


def write(cases: list[Path], against: list[Path], split: Path | None, peers: Path | None, counts: Path | None) -> None:
    """Takes over new measurements, if files with them are named, and writes the page."""
    DATA.mkdir(parents=True, exist_ok=True)
    for name, sources in (("cases", cases), ("against", against)):
        for source in sources:
            place_of(name, source).write_bytes(source.read_bytes())
    if any(place_of("cases", source).name == "cases.json" for source in cases):
        # Times and counts are of one build again.
        (DATA / "counts.json").unlink(missing_ok=True)
    if counts:
        taken = counts_in(json.loads(counts.read_text("utf-8")))
        (DATA / "counts.json").write_text(json.dumps(taken, indent=1) + "\n", "utf-8")
    for name, measured in (("shares", split), ("peers", peers)):
        if measured:
            (DATA / f"{name}.json").write_bytes(measured.read_bytes())
    PAGE.write_text(render(), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")


def check() -> bool:
    """Answers whether the page is what its measurements give; says so if not."""
    if PAGE.read_text("utf-8") == render():
        return True
    print(f"{PAGE.relative_to(ROOT)}: is not what docs/data/speed gives; `python3 tools/bench page` writes it")
    return False
