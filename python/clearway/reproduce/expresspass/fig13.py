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
* **Converged** (Fig. 16): the first round trip of 25 us from which on the mean of the next 100 (DCTCP: 200) is within
  10 % of its share for both flows, at 20 starts in a row: a round trip holds 20 frames, too few to show 10 %. The
  printed 100 ms of averaging for DCTCP could not resolve its 70 ms (E17-17). At five offsets.
* **First rates**: alpha = 1/2, w_init = 1/16, the defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, CREDIT, FRAME, PAYLOAD, Floats, binned, data_drops, port, settles
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "dctcp": {"name": "dctcp", "g": 0.0625, "handshake": True},
}
FLOWS = 5
EVERY_MS = {"quick": 60, "paper": 200}
#: Milliseconds an average of throughput, as the paper says.
AVERAGED_MS = 10
#: Fig. 16: when the second flow joins in us, step between offsets, round trips an average, round trips watched.
JOIN = {"expresspass": (10_000, 5, 100, 500), "dctcp": (50_000, 700, 200, 8_000)}
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
    found = [come_and_go(name, EVERY_MS[scale], seed) for name in TRANSPORTS for seed in stats.SEEDS]
    return found + [join(name, seed) for name in TRANSPORTS for seed in stats.SEEDS]


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


def join(name: str, seed: int) -> Job:
    """A second flow joins a first; the seed chooses the offset too."""
    start, step, _, count = JOIN[name]
    at = start + (seed - 1) * step
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{at} us"}
    return Job(
        {"what": "join", "transport": name, "seed": seed, "every_ms": at},
        {
            "name": "fig16-testbed",
            "seed": seed,
            "stop": f"{at + count * RTT_US} us",
            "topology": {**NETWORK, "pairs": 2},
            "host": HOSTS,
            "transport": TRANSPORTS[name],
            "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
            "sample": [{"name": "throughput", "what": "throughput", "every": f"{RTT_US} us"}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Queues, use and steadiness; or when two flows had their share, in us."""
    row = {"queue_KB": 0.0, "credits": 0, "use": 0.0, "variation": 0.0, "converged_us": float("nan"), "drops": 0}
    name, params = str(job.params["transport"]), job.params
    if params["what"] == "join":
        window = JOIN[name][2]
        share = (CEILING if name == "expresspass" else 1.0) * 10e9 * PAYLOAD / FRAME / 2
        _, rates = binned(run, "throughput", params["every_ms"] * 1e-6, RTT_US * 1e-6)
        found = settles(rates, share, window=window, hold=20)
        row["converged_us"] = RTT_US * (found if found == found else float(rates.shape[1]))
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


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {
            "transport": name,
            "maximum_queue_KB": of(tables, "queue_KB", "come and go", name).mean,
            "maximum_credit_queue": of(tables, "credits", "come and go", name).mean,
            "use_of_a_lone_flow_%": of(tables, 100 * pl.col("use"), "come and go", name).mean,
            "variation_of_throughput_%": of(tables, 100 * pl.col("variation"), "come and go", name).mean,
            "joined_after_us": of(tables, "converged_us", "join", name).mean,
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
    ours, theirs = (of(tables, "converged_us", "join", name) for name in TRANSPORTS)
    # A flow that has its share from the first round trip on took one.
    whole = pl.col("converged_us") + RTT_US
    ratio = stats.paired_ratio(
        stats.per_seed(tables["rows"], whole, what="join", transport="dctcp"),
        stats.per_seed(tables["rows"], whole, what="join", transport="expresspass"),
    )
    measured = {
        "fig16-testbed-convergence-expresspass": ours,
        "fig16-testbed-convergence-expresspass-rtts": ours.scaled(1 / RTT_US),
        "fig16-testbed-convergence-dctcp": theirs.scaled(1e-3),
        "fig16-testbed-convergence-ratio": ratio,
    }
    return [judge.judge(claim("expresspass", name), value, note=note) for name, value in measured.items()]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "ours": of(tables, "queue_KB", "come and go", "expresspass"),
        "theirs": of(tables, "queue_KB", "come and go", "dctcp"),
        "varies_ours": of(tables, 100 * pl.col("variation"), "come and go", "expresspass"),
        "varies_theirs": of(tables, 100 * pl.col("variation"), "come and go", "dctcp"),
        "joined_ours": of(tables, "converged_us", "join", "expresspass"),
        "joined_theirs": of(tables, pl.col("converged_us") / 1e3, "join", "dctcp"),
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
    shown={"shown": "Means over the seeds."},
    captions={"flows": "Throughput of five flows that arrive and leave, averaged over a millisecond"},
)
