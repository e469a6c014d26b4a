"""Five flows arrive one after the other and leave again, over one 10 GbE link. The paper shows the throughput of each
and the queue, for ExpressPass and DCTCP on its testbed; here they are simulated. Fig. 16 (a, b), measured on the
same testbed, is about how long a flow takes to share a link that another one has.

Unstated, and chosen here:

* **Round trip**: 25 us, the average that the paper reports of its testbed (sec. 6.1); host delays of 0.9 to 6.2 us
  for credits (sec. 2). DCTCP: the same hosts, K = 65 frames, g = 1/16, a handshake and a first window of ten
  segments, a buffer of 250 frames.
* **Times**: a flow starts every 60 ms, and after 300 ms one ends every 60 ms, in the same order (full: every 200 ms).
* **Stable**: the coefficient of variation of a flow's throughput, averaged over 10 ms as stated, over the middle half
  of each period in which the flows stay the same.
* **Converged** (Fig. 16): by [the one criterion](../verdicts.md#when-flows-have-converged), counted from the moment at
  which the second flow asks, at 60 offsets (quick: 20). A round trip of 25 us holds ten packets of each flow, too few
  to tell 10 %, so that a window has 11; DCTCP's has 5 ms, since the printed 100 ms could not resolve 70 (E17-17).
  Watched are 400 round trips, and 200 ms of DCTCP.
* **Ramped up** (E17-30): the first round trip (DCTCP: 5 ms) in which the new flow has 0.9 of its share, whatever comes
  after, with the law as printed and the first rates of the first point in Fig. 8 (a), alpha = 1 and w_init = 1/2.
* **First rates**: alpha = 1/2, w_init = 1/16, the defaults.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import joining, never, quotient, times, words
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, CREDIT, FRAME, PAYLOAD, Floats, data_drops, port
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "dctcp": {"name": "dctcp", "g": 0.0625, "handshake": True},
}
FLOWS = 5
EVERY_MS = {"quick": 60, "paper": 200}
#: Seeds of the flows that come and go: five leave open which of the two is steadier.
SEEDS = {"quick": stats.SEEDS, "paper": range(1, 16)}
#: Milliseconds an average of throughput, as the paper says.
AVERAGED_MS = 10
#: Fig. 16: transports, of which the last is that of E17-30.
PRINTED = "printed, alpha 1"
JOINING: dict[str, dict[str, Any]] = {
    **TRANSPORTS,
    PRINTED: {"name": "expresspass", "feedback": "sigcomm17-printed", "alpha": 1, "w_init": 0.5},
}
#: Fig. 16: when the second flow joins in us, range of the offsets, round trips a window, round trips watched.
JOIN = {"expresspass": (10_000, 25, 11, 400), "dctcp": (50_000, 3_500, 200, 8_000), PRINTED: (10_000, 25, 11, 400)}
OFFSETS = {"quick": 20, "paper": 60}
HELD, RAMPED = "held_us", "ramped_us"
RTT_US = 25
NETWORK = {
    "kind": "dumbbell",
    "rate": "10 Gbps",
    "delay": "3.125 us",
    "bottleneck_rate": "10 Gbps",
    "bottleneck_delay": "6.25 us",
}
HOSTS = {"processing_delay": {"uniform": ["0.9 us", "6.2 us"]}}


def jobs(scale: str) -> list[Job]:
    """Five flows that come and go, and two of which the second joins."""
    found = [come_and_go(name, EVERY_MS[scale], seed) for name in TRANSPORTS for seed in SEEDS[scale]]
    count = OFFSETS[scale]
    return found + [join(name, seed, count) for name in JOINING for seed in range(1, count + 1)]


def come_and_go(name: str, every_ms: int, seed: int) -> Job:
    """Five flows that arrive and leave one after the other."""
    traffic = [
        {
            "name": f"flow{i}",
            "kind": "long",
            "pairs": [[f"h{i}", f"h{FLOWS + i}"]],
            "start": f"{i * every_ms} ms",
            "stop": f"{(FLOWS + i) * every_ms} ms",
        }
        for i in range(FLOWS)
    ]
    return Job(
        {"what": "come and go", "transport": name, "seed": seed, "every_ms": every_ms},
        {
            "name": "fig13",
            "seed": seed,
            "stop": f"{2 * FLOWS * every_ms} ms",
            "topology": {**NETWORK, "pairs": FLOWS},
            "host": HOSTS,
            "transport": TRANSPORTS[name],
            "traffic": traffic,
            "sample": [
                {"name": f"flow{i}", "what": "throughput", "traffic": f"flow{i}", "every": "1 ms"} for i in range(FLOWS)
            ],
        },
    )


def join(name: str, seed: int, offsets: int) -> Job:
    """A second flow joins a first; the seed chooses the offset too."""
    start, spread, _, count = JOIN[name]
    at = start + (seed - 1) * spread // offsets
    every = "25 us" if name == "dctcp" else "5 us"
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{at} us"}
    return Job(
        {"what": "join", "transport": name, "seed": seed, "every_ms": at},
        {
            "name": "fig16-testbed",
            "seed": seed,
            "stop": f"{at + count * RTT_US} us",
            "topology": {**NETWORK, "pairs": 2},
            "host": HOSTS,
            "transport": JOINING[name],
            "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
            "sample": [{"name": "throughput", "what": "throughput", "every": every}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Queues, use and steadiness; or when two flows had their share, in us."""
    row = {"queue_KB": 0.0, "credits": 0, "use": 0.0, "variation": 0.0, HELD: math.nan, RAMPED: math.nan, "drops": 0}
    name, params = str(job.params["transport"]), job.params
    if params["what"] == "join":
        window_s = JOIN[name][2] * RTT_US * 1e-6
        share = (1.0 if name == "dctcp" else CEILING) * 10e9 * PAYLOAD / FRAME / 2
        every_s = (RTT_US if name == "dctcp" else 5) * 1e-6
        both = joining(run, params["every_ms"] * 1e-6, share, every_s=every_s, before_s=window_s)
        row[HELD] = both.held(window_s) * 1e6
        row[RAMPED] = both.ramp_up(window_s if name == "dctcp" else RTT_US * 1e-6) * 1e6
        return {"rows": pl.DataFrame([row])}
    trunk, back = port(run, "s0->s1"), port(run, "s1->s0")
    bins = params["every_ms"] * 2 * FLOWS
    rates = by_millisecond(run, bins)
    every = params["every_ms"]
    spans = [slice(round((k + 0.25) * every), round((k + 0.75) * every)) for k in range(2 * FLOWS - 1)]
    alive = [[i for i in range(FLOWS) if i <= k < i + FLOWS] for k in range(2 * FLOWS - 1)]
    off = [variation(rates[i, span]) for span, of in zip(spans, alive, strict=True) for i in of]
    row |= {
        "queue_KB": float(trunk["queue_max_bytes"]) / 1e3,
        "credits": int(back["credit_queue_max"]),
        "use": float(rates[:, spans[0]].sum(axis=0).mean()) * FRAME / PAYLOAD / 10e9,
        "variation": float(np.mean(off)),
        "drops": data_drops(run),
    }
    tables = {"rows": pl.DataFrame([row])}
    if params["seed"] == 1:
        series = {f"flow{i}": rates[i] / 1e9 for i in range(FLOWS)}
        tables["series"] = pl.DataFrame({"time_ms": np.arange(1, rates.shape[1] + 1), **series})
    return tables


def variation(rates: Floats) -> float:
    """The coefficient of variation of averages of `AVERAGED_MS`, from rates by the millisecond."""
    whole = len(rates) // AVERAGED_MS * AVERAGED_MS
    means = rates[:whole].reshape(-1, AVERAGED_MS).mean(axis=1)
    return float(np.std(means) / np.mean(means))


def by_millisecond(run: Run, bins: int) -> Floats:
    """The rate of each flow in each millisecond of a run: zero before its start and after its end."""
    found = np.zeros((FLOWS, bins))
    for i in range(FLOWS):
        part = run.samples.filter(pl.col("series") == f"flow{i}")
        found[i, (part["time_s"].to_numpy() * 1e3).round().astype(int) - 1] = part["value"].to_numpy()
    return found


def of(tables: Tables, value: str | pl.Expr, what: str, transport: str) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, what=what, transport=transport)


def joined(tables: Tables, name: str, which: str = HELD) -> list[float]:
    """Microseconds until two flows had their share, one an offset; NaN if they never had."""
    return stats.per_seed(tables["rows"], which, what="join", transport=name)


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {
            "transport": name,
            "maximum_queue_KB": of(tables, "queue_KB", "come and go", name).mean,
            "maximum_credit_queue": of(tables, "credits", "come and go", name).mean,
            "use_of_a_lone_flow_%": of(tables, 100 * pl.col("use"), "come and go", name).mean,
            "variation_of_throughput_%": of(tables, 100 * pl.col("variation"), "come and go", name).mean,
            "joined_after_us": words(times(joined(tables, name))),
            "runs_that_never_converge": never(joined(tables, name)),
        }
        for name in TRANSPORTS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    note = "simulated, with the testbed's round trip and host delays"
    ours, theirs = (of(tables, "queue_KB", "come and go", name) for name in TRANSPORTS)
    less = over_dctcp(tables, "queue_KB", "come and go")
    waiting = of(tables, pl.col("credits") * 84, "come and go", "expresspass")
    use = of(tables, 100 * pl.col("use"), "come and go", "expresspass")
    data: dict[str, judge.Measured] = {"data": use, "credit": use.scaled(CREDIT / FRAME)}
    steady = {name: of(tables, "variation", "come and go", name) for name in TRANSPORTS}
    text = ", ".join(f"{name}: throughput varies by {100 * one.mean:.1f} %" for name, one in steady.items())
    stable = {"variation over DCTCP's": over_dctcp(tables, "variation", "come and go"), "queue over DCTCP's": less}
    return [
        judge.judge(
            claim("expresspass", "fig13-max-data-queue"),
            {"ExpressPass": ours, "DCTCP": theirs, "ours over DCTCP's": less},
            note=note,
        ),
        judge.judge(claim("expresspass", "fig13-max-credit-queue"), waiting, form=".0f", note=note),
        judge.judge(
            claim("expresspass", "fig13-max-data-throughput"),
            data,
            form=".2f",
            note="a lone flow; a credit for each frame of data",
        ),
        judge.judge(claim("expresspass", "fig13-stability"), stable, text=text, note=note),
        *testbed(tables, note),
    ]


def over_dctcp(tables: Tables, value: str | pl.Expr, what: str) -> stats.Estimate:
    """A measure under ExpressPass over that under DCTCP, paired by seed."""
    return stats.paired_ratio(
        *(stats.per_seed(tables["rows"], value, what=what, transport=name) for name in TRANSPORTS)
    )


def testbed(tables: Tables, note: str) -> list[Finding]:
    """The verdicts on Fig. 16 (a, b), the testbed."""

    def measured(ours: str, which: str) -> dict[str, stats.Estimate]:
        fast, slow = joined(tables, ours, which), joined(tables, "dctcp", which)
        return {
            "expresspass": times(fast),
            "expresspass-rtts": times(fast).scaled(1 / RTT_US),
            "dctcp": times(slow).scaled(1e-3),
            "ratio": quotient(slow, fast),
        }

    held, ramped = measured("expresspass", HELD), measured(PRINTED, RAMPED)
    none = f"ExpressPass never converges in {never(joined(tables, 'expresspass'))} runs"
    found = []
    for name, value in held.items():
        here = claim("expresspass", f"fig16-testbed-convergence-{name}")
        text = f"{words(value)} {here.unit}" if math.isinf(value.median().mean) else ""
        remark = note if name == "dctcp" else f"{none}; {note}"
        found.append(judge.judge(here, value, text=text, note=remark, readings={"E17-30": {"value": ramped[name]}}))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "ours": of(tables, "queue_KB", "come and go", "expresspass"),
        "theirs": of(tables, "queue_KB", "come and go", "dctcp"),
        "varies_ours": of(tables, 100 * pl.col("variation"), "come and go", "expresspass"),
        "varies_theirs": of(tables, 100 * pl.col("variation"), "come and go", "dctcp"),
        "never_ours": never(joined(tables, "expresspass")),
        "never_theirs": never(joined(tables, "dctcp")),
        "joined_theirs": words(times(joined(tables, "dctcp")).scaled(1e-3)),
        "ramped": words(times(joined(tables, PRINTED, RAMPED))),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of the five flows over time."""
    picture, axes = grid(1, 2, width=9.6, height=2.9, sharey=True)
    for place, name in zip(axes, TRANSPORTS, strict=True):
        part = tables["series"].filter(pl.col("transport") == name)
        for number in range(FLOWS):
            place.plot(part["time_ms"], part[f"flow{number}"], lw=1.4, color=look.color(number), label=f"flow {number}")
        place.set(title=name, xlabel="ms", ylim=(0, 10))
    axes[0].set_ylabel("Gbps")
    axes[0].legend(frameon=False, fontsize=10)
    return {"flows": picture}


FIGURE = Figure(
    name="expresspass/fig13",
    title="ExpressPass '17, Fig. 13 and 16 (a, b): flows that come and go, on hosts like the testbed's",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig13-max-data-queue",
        "fig13-max-credit-queue",
        "fig13-max-data-throughput",
        "fig13-stability",
        "fig16-testbed-convergence-expresspass",
        "fig16-testbed-convergence-expresspass-rtts",
        "fig16-testbed-convergence-dctcp",
        "fig16-testbed-convergence-ratio",
    ),
    shown={"shown": "Means over the seeds; of the time until a flow has joined, the median."},
    captions={"flows": "Throughput of five flows that arrive and leave, averaged over a millisecond"},
)
