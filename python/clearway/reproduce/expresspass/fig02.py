"""A second flow joins a first one at a 10 GbE switch that limits credits: naive credits share the link within a round
trip, CUBIC and DCTCP do not. The paper measured it on a testbed and shows throughput over time; here it is
simulated.

Unstated, and chosen here:

* **Flows**: two; the second joins after 50 ms, at five offsets within 2 ms. Under naive credits, where a joining is
  soon over, a second flow joins 600 times in each of five runs, and stays for a millisecond.
* **Round trip**: 25 us without queues, the average that the paper reports for its testbed (sec. 6.1), of which credits
  spend 0.9 to 6.2 us in hosts (sec. 2).
* **Converged**: by [the one criterion](../verdicts.md#when-flows-have-converged), counted from the end of the second
  flow's handshake, which each of the three needs. Windows: 5 ms for DCTCP, as in Fig. 13 (E17-17), 25 ms for CUBIC.
  A round trip of naive credits holds ten packets of each flow, too few to tell 10 %, so that the mean over the 600
  joinings of a run is taken, in windows of one round trip. What a mean could hide, a flow that is locked out in some
  runs, shows in a run of one joining: if a flow does not have its share within 10 % there over 800 round trips, the
  flows of that seed never converge.
* **Buffer**: 250 full frames. DCTCP: K = 65 frames, g = 1/16. Both start with a handshake and ten segments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import (
    TOLERANCE,
    Joining,
    joining,
    never,
    quotient,
    times,
    together,
    words,
)
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, Floats
from clearway.reproduce.stats import SEEDS
from clearway.result import Run

RTT_US = 25
RATE_BPS = 10e9
NAIVE: dict[str, Any] = {"name": "naive-credit"}
#: Transport -> its table.
TRANSPORTS: dict[str, dict[str, Any]] = {
    "naive-credit": NAIVE,
    "dctcp": {"name": "dctcp", "handshake": True},
    "cubic": {"name": "cubic", "handshake": True},
}
#: A change of naive credits, to find out what it does.
SHORT_QUEUE = "naive-credit, queue of one"
#: Windows of those that have a saw tooth, in round trips.
WINDOWS = {"dctcp": 200, "cubic": 1000}
#: The time in us at which the second flow joins, step between offsets, round trips that are watched.
START_US, STEP_US, WATCHED = 50_000, 400, {"quick": 8_000, "paper": 32_000}
#: Joinings of a run under naive credits, time between them and time that the second flow stays, in us.
JOININGS, EVERY_US, STAYS_US = 600, 1_500, 1_000
#: Round trips over which each run by itself must be fair.
ALONE = 800


def jobs(scale: str) -> list[Job]:
    """Each transport at each offset; under naive credits also the many joinings."""
    found = [
        job(name, seed, ALONE if name == "naive-credit" else WATCHED[scale]) for name in TRANSPORTS for seed in SEEDS
    ]
    many = {"naive-credit": NAIVE, SHORT_QUEUE: {**NAIVE, "credit_queue": 1}}
    return found + [joinings(name, table, seed) for name, table in many.items() for seed in SEEDS]


def job(name: str, seed: int, watched: int) -> Job:
    """One run in which a second flow joins; the seed also chooses the offset."""
    at = START_US + (seed - 1) * STEP_US
    second = {"src": "h1", "dst": "h3", "start": f"{at} us"}
    made = scenario(TRANSPORTS[name], seed, at + watched * RTT_US, [second], f"{RTT_US} us")
    return Job({"what": "one", "transport": name, "seed": seed, "start_us": at}, made)


def joinings(name: str, transport: dict[str, Any], seed: int) -> Job:
    """A run in which a second flow joins again and again, at all phases of a round trip."""
    starts = [joins_us(number) for number in range(JOININGS)]
    others = [{"src": "h1", "dst": "h3", "start": f"{at} us", "stop": f"{at + STAYS_US} us"} for at in starts]
    made = scenario(transport, seed, starts[-1] + STAYS_US, others, "1 us")
    return Job({"what": "many", "transport": name, "seed": seed, "start_us": starts[0]}, made)


def joins_us(number: int) -> int:
    """The time of a joining: 7 us later in the round trip than the one before."""
    return 2_000 + EVERY_US * number + 7 * number % RTT_US


def scenario(
    transport: dict[str, Any], seed: int, stop_us: int, others: list[dict[str, str]], every: str
) -> dict[str, Any]:
    """A first flow, and others that join it."""
    return {
        "name": "fig02",
        "seed": seed,
        "stop": f"{stop_us} us",
        "topology": {
            "kind": "dumbbell",
            "pairs": 2,
            "rate": "10 Gbps",
            "delay": "2.2 us",
            "bottleneck_rate": "10 Gbps",
            "bottleneck_delay": "4.4 us",
        },
        "host": {"processing_delay": {"uniform": ["0.9 us", "6.2 us"]}},
        "transport": transport,
        "traffic": [{"name": "flows", "kind": "flows", "list": [{"src": "h0", "dst": "h2"}, *others]}],
        "sample": [{"name": "throughput", "what": "throughput", "every": every}],
    }


def measure(job: Job, run: Run) -> Tables:
    """Round trips until both flows have their share, without that of the handshake; NaN if never."""
    name, rtt_s = job.params["transport"], RTT_US * 1e-6
    share = (1.0 if name in WINDOWS else CEILING) * RATE_BPS * PAYLOAD / FRAME / 2
    if job.params["what"] == "many":
        each = each_joining(run, share)
        mean = together(each)
        lately = [float(one.rates[-1, -STAYS_US // 2 :].mean()) for one in each]
        row = {"rtts": mean.held(rtt_s) / rtt_s, "far": float(np.std(lately))}
    else:
        window_s = WINDOWS.get(name, ALONE) * rtt_s
        at_s = job.params["start_us"] * 1e-6 + rtt_s
        both = joining(run, at_s, share, every_s=rtt_s, before_s=window_s if name in WINDOWS else rtt_s)
        row = {"rtts": both.held(window_s) / rtt_s if name in WINDOWS else math.nan, "far": 0.0}
        row["far"] = float(np.abs(both.rates[:, 2:].mean(axis=1) - 1).max())
    return {"rows": pl.DataFrame([row])}


def each_joining(run: Run, share: float) -> list[Joining]:
    """The throughput of the first flow and of each that joins it, from two round trips before its handshake ends."""
    tables = run.samples.partition_by("entity", as_dict=True)
    series = sorted(tables.values(), key=lambda one: float(one["time_s"][0]))
    length = joins_us(JOININGS) + STAYS_US

    def rates(table: pl.DataFrame) -> Floats:
        found = np.zeros(length + 1)
        found[np.round(table["time_s"].to_numpy() * 1e6).astype(int)] = np.nan_to_num(table["value"].to_numpy())
        return found[1:] / share

    first = rates(series[0])
    found = []
    for number, table in enumerate(series[1:]):
        span = slice(joins_us(number) - RTT_US, joins_us(number) + STAYS_US)
        both = np.array([first[span], rates(table)[span]])
        found.append(Joining(both, 1e-6, 2 * RTT_US * 1e-6, share / (8 * PAYLOAD)))
    return found


def taken(tables: Tables, name: str) -> list[float]:
    """Round trips until both flows have their share, one a seed; NaN if never."""
    if name in WINDOWS:
        return stats.per_seed(tables["rows"], "rtts", what="one", transport=name)
    mean = stats.per_seed(tables["rows"], "rtts", what="many", transport=name)
    alone = stats.per_seed(tables["rows"], "far", what="one", transport="naive-credit")
    return [one if off <= TOLERANCE else math.nan for one, off in zip(mean, alone, strict=True)]


def far(tables: Tables, what: str) -> stats.Estimate:
    """The distance of naive credits' flows from their share: `one` run, over 800 round trips, and `many` joinings."""
    return stats.over_seeds(tables["rows"], "far", what=what, transport="naive-credit")


def summarise(tables: Tables) -> Tables:
    """Medians over the seeds."""
    rows = [
        {
            "transport": name,
            "round_trips": words(times(taken(tables, name))),
            "milliseconds": words(times(taken(tables, name)).scaled(RTT_US / 1e3)),
            "runs_that_never_converge": never(taken(tables, name)),
        }
        for name in [*TRANSPORTS, SHORT_QUEUE]
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    naive = taken(tables, "naive-credit")
    longer = {
        f"{name} over naive credits": quotient([least(one) for one in taken(tables, name)], naive)
        for name in ("cubic", "dctcp")
    }
    text = ", ".join(f"{name} {words(times(taken(tables, name)))} RTT" for name in TRANSPORTS)
    note = "simulated with the testbed's round trip and host delays"
    queue = judge.Change(
        "A full queue of eight credits makes the round trip of naive credits longer by 10 us; here it holds one.",
        {"value": times(taken(tables, SHORT_QUEUE))},
    )
    here = claim("expresspass", "fig02-naive-one-rtt-convergence")
    return [
        judge.judge(here, times(naive), form=".2f", note=note, cause=queue),
        judge.judge(claim("expresspass", "fig02-convergence-ordering"), longer, text=text, note=note),
    ]


def least(rtts: float) -> float:
    """A time, or the least that it can be where it is never reached: as long as the quick runs watch."""
    return WATCHED["quick"] if math.isnan(rtts) else rtts


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        **{name.replace("-", "_"): words(times(taken(tables, name))) for name in TRANSPORTS},
        "queue_1": words(times(taken(tables, SHORT_QUEUE))),
        "never_cubic": never(taken(tables, "cubic")),
        "wander": 100 * far(tables, "many").mean,
        "chance": 100 / math.sqrt(2 * STAYS_US / 2 / RTT_US * CEILING * RATE_BPS / 2 * RTT_US * 1e-6 / (8 * FRAME)),
        "long_run": 100 * far(tables, "one").mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Round trips by transport."""
    picture, (axes,) = grid(1, 1, width=6.0, height=2.6)
    names = list(TRANSPORTS)
    values = [stats.estimate([least(one) for one in taken(tables, name)]).median().mean for name in names]
    axes.barh(names, values, color=[look.color(OWN[name]) for name in names])
    axes.set_xscale("log")
    axes.set(xlabel="round trips until both flows have their share")
    return {"convergence": picture}


FIGURE = Figure(
    name="expresspass/fig02",
    title="ExpressPass '17, Fig. 2: naive credits share a link within a round trip",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig02-naive-one-rtt-convergence", "fig02-convergence-ordering"),
    shown={
        "shown": "Round trips until both keep their share, medians over five runs; naive credits: mean of 600 joinings."
    },
    captions={"convergence": "Round trips until two flows share a link, after the second asked for its connection"},
)
