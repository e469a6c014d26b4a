"""The cost and gain of the first rate of credits. Fig. 8 (a): how long a new flow takes to share a link with an
existing one; Fig. 8 (b): how many credits a flow of one packet wastes in an idle network; both against the initial
rate. And Fig. 7: what the start of a flow costs with the request on the SYN, and as a packet of its own.

Unstated, and chosen here:

* **Rate and round trip**: 10 Gbps, 100 us (stated for Fig. 8 (b), as in Fig. 16).
* **Converged**: by [the one criterion](../verdicts.md#when-flows-have-converged), in windows of three round trips: one
  holds 39 packets of each flow, too few to tell 10 %. It counts from the moment at which the new flow asks; its first
  data can arrive 1.5 round trips later. Forty offsets within a round trip, watched for 150.
* **Ramped up** (E17-30): the paper says "convergence time (or ramp-up time)". That is read as the first round trip in
  which the new flow has 0.9 of its share, whatever comes after, under the law as printed.
* **w_init**: 1/2 as stated.
* **Fig. 8 (b)**: one flow of 1,460 B alone; the sender stops its credits after the default idle time, a round trip.
* **Fig. 7**: a flow of one packet in the same network. The delay at the start is the time from opening to the first
  data packet's arrival, less one and a half round trips: request or SYN, credit, data.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import joining, never, quotient, times, window_rtts, words
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, CREDIT, FRAME, PAYLOAD
from clearway.result import Run

ALPHAS = {"1": 1.0, "1/2": 0.5, "1/4": 0.25, "1/8": 0.125, "1/16": 0.0625, "1/32": 0.03125}
READINGS = {"default": {}, "printed": {"feedback": "sigcomm17-printed"}}
RTT_US, START_US = 100, 10_000
SEEDS = range(1, 41)
RATE_BPS = 10e9
HELD, RAMPED = "held_rtts", "ramped_rtts"


def jobs(_: str) -> list[Job]:
    """Two flows at each first rate, a flow of one packet at each, and the two ways to start."""
    found = [two_flows(name, reading, seed) for name in ALPHAS for reading in READINGS for seed in SEEDS]
    found += [one_packet(name, w_init) for name in ALPHAS for w_init in (0.5, 0.0625)]
    return found + [start(way) for way in ("syn", "request")]


def two_flows(name: str, reading: str, seed: int) -> Job:
    """A flow joins another; the seed chooses the offset."""
    at = START_US + (seed - 1) * RTT_US // len(SEEDS)
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{at} us"}
    return Job(
        {"what": "two flows", "alpha": name, "reading": reading, "w_init": 0.5, "seed": seed, "start_us": at},
        {
            "name": "fig08",
            "seed": seed,
            "stop": f"{at + 150 * RTT_US} us",
            "topology": dumbbell(2, "10 Gbps"),
            "transport": {"name": "expresspass", "alpha": ALPHAS[name], "w_init": 0.5, **READINGS[reading]},
            "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
            "sample": [{"name": "throughput", "what": "throughput", "every": "10 us"}],
        },
    )


def one_packet(name: str, w_init: float) -> Job:
    """A flow of one packet, alone."""
    flow = {"src": "h0", "dst": "h1", "size": f"{PAYLOAD} B"}
    return Job(
        {"what": "one packet", "alpha": name, "reading": "default", "w_init": w_init, "seed": 1, "start_us": 0},
        {
            "name": "fig08",
            "topology": dumbbell(1, "10 Gbps"),
            "transport": {"name": "expresspass", "alpha": ALPHAS[name], "w_init": w_init},
            "traffic": [{"name": "flows", "kind": "flows", "list": [flow]}],
        },
    )


def start(way: str) -> Job:
    """The way in which a flow begins: `syn` for a new connection, `request` for one that stands."""
    flow = {"src": "h0", "dst": "h1", "size": f"{PAYLOAD} B"}
    handshake = "syn" if way == "syn" else "none"
    return Job(
        {"what": "start", "alpha": way, "reading": "default", "w_init": 0.0625, "seed": 1, "start_us": 0},
        {
            "name": "fig07",
            "topology": dumbbell(1, "10 Gbps"),
            "transport": {"name": "expresspass", "handshake": handshake, "jitter": 0, "randomize_size": False},
            "traffic": [{"name": "flows", "kind": "flows", "list": [flow]}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Round trips until both have their share; credits wasted; the completion time of one packet."""
    row = dict.fromkeys(("held_rtts", "ramped_rtts", "wasted", "fct_us"), float("nan"))
    if job.params["what"] == "two flows":
        rtt_s, share = RTT_US * 1e-6, CEILING * RATE_BPS * PAYLOAD / FRAME / 2
        both = joining(run, job.params["start_us"] * 1e-6, share, every_s=rtt_s / 10, before_s=10 * rtt_s)
        row["held_rtts"] = both.held(window_rtts(both.packets_per_s * rtt_s) * rtt_s) / rtt_s
        row["ramped_rtts"] = both.ramp_up(rtt_s) / rtt_s
    else:
        row["wasted"] = float(run.flows["credits_wasted"].sum())
        row["fct_us"] = float(run.flows["fct_s"][0]) * 1e6
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Medians over the offsets, beside the credits wasted."""
    rows = [
        {
            "initial_rate": name,
            "round_trips": words(times(joined(tables, name, "default"))),
            "round_trips,_printed_law": words(times(joined(tables, name, "printed"))),
            "runs_that_never_converge": never(joined(tables, name, "default")),
            "with_the_printed_law": never(joined(tables, name, "printed")),
            "ramped_up": words(times(joined(tables, name, "default", RAMPED))),
            "ramped_up,_printed_law": words(times(joined(tables, name, "printed", RAMPED))),
            "credits_wasted": wasted(tables, name, 0.5),
            "with_w_init_1/16": wasted(tables, name, 0.0625),
        }
        for name in ALPHAS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def joined(tables: Tables, alpha: str, reading: str, which: str = HELD) -> list[float]:
    """Round trips until a new flow has its share, one an offset; NaN if it never came."""
    return stats.per_seed(tables["rows"], which, what="two flows", alpha=alpha, reading=reading)


def wasted(tables: Tables, alpha: str, w_init: float) -> float:
    """Credits that a flow of one packet wastes."""
    return stats.over_seeds(tables["rows"], "wasted", what="one packet", alpha=alpha, w_init=w_init).mean


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    here = claim("expresspass", "fig08a-convergence-vs-initial-rate")
    first = {name: words(times(joined(tables, name, "printed", RAMPED))) for name in ALPHAS}
    none = ", ".join(f"{case}: {never(joined(tables, case, 'printed'))}" for case in ("1", "1/32"))
    return [
        judge.judge(
            here,
            joining_at(tables, "default"),
            note=f"by the law as printed flows never converge in so many runs: {none}",
            readings={
                "sigcomm17-printed": joining_at(tables, "printed"),
                "E17-30": joining_at(tables, "printed", RAMPED),
            },
            cause=judge.Unstated(
                "The criterion, which the paper calls convergence or ramp-up time: by the law as printed a new flow "
                f"first has its share in round trip {first['1']} from the full rate, {first['1/32']} from 1/32 of it "
                "(E17-30), and never keeps it"
            ),
        ),
        waste(tables),
        beginning(tables),
    ]


def joining_at(tables: Tables, reading: str, which: str = HELD) -> dict[str, judge.Measured]:
    """Round trips until a new flow has its share at the first rates of the claim, and how they change with the rate."""
    took = {name: joined(tables, name, reading, which) for name in ALPHAS}
    return {
        **{case: times(took[case]) for case in ("1", "1/32")},
        "1/32 over 1": quotient(took["1/32"], took["1"]),
        **{
            f"each halving, {before} to {after}": quotient(took[after], took[before])
            for before, after in pairwise(ALPHAS)
        },
    }


def waste(tables: Tables) -> Finding:
    """The verdict on the credits that a flow of one packet wastes."""
    values = {name: wasted(tables, name, 0.5) for name in ALPHAS}
    first_rtt = RTT_US * 10e3 / 8 / (CREDIT + FRAME)
    found: dict[str, judge.Measured] = {
        **{f"each halving, {before} to {after}": values[after] / values[before] for before, after in pairwise(ALPHAS)},
        "over those of a round trip": values["1"] / (first_rtt - 1),
        **{f"w_init of 1/16 over 1/2, {name}": wasted(tables, name, 0.0625) / values[name] for name in ALPHAS},
    }
    text = ", ".join(f"{name}: {value:.0f}" for name, value in values.items())
    return judge.judge(claim("expresspass", "fig08b-credit-waste-vs-initial-rate"), found, text=f"{text} credits")


def beginning(tables: Tables) -> Finding:
    """The verdict on the delay at a flow's start."""
    # One and a half round trips: request, credit, data; frames take their time on four links.
    hop = 4 * 8 / 10e3
    lone = 1.5 * RTT_US + hop * (2 * CREDIT + FRAME)
    took = {
        name: stats.over_seeds(tables["rows"], "fct_us", what="start", alpha=name).mean for name in ("syn", "request")
    }
    handshake = RTT_US + 2 * hop * CREDIT
    extra: dict[str, judge.Measured] = {
        "piggybacked": round((took["syn"] - lone) / RTT_US, 1),
        "persistent_or_udp": round((took["request"] - (lone - handshake)) / RTT_US, 1),
    }
    note = (
        "to a tenth of a round trip; piggybacked: against a TCP that sends its first data after the same handshake; "
        "persistent: against one that sends at once"
    )
    return judge.judge(claim("expresspass", "fig07-credit-flow-state-machine"), extra, form=".1f", note=note)


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "slow": words(times(joined(tables, "1/32", "default"))),
        "fast": words(times(joined(tables, "1", "default"))),
        "slow_ramped": words(times(joined(tables, "1/32", "printed", RAMPED))),
        "fast_ramped": words(times(joined(tables, "1", "printed", RAMPED))),
        "slow_ours": words(times(joined(tables, "1/32", "default", RAMPED))),
        "fast_ours": words(times(joined(tables, "1", "default", RAMPED))),
        "never_printed": never([one for name in ALPHAS for one in joined(tables, name, "printed")]),
        "most": wasted(tables, "1", 0.5),
        "least": wasted(tables, "1/32", 0.5),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Round trips and wasted credits against the first rate."""
    picture, axes = grid(1, 2, width=9.2, height=2.9)
    shown = tables["shown"]
    for reading, which, label, line in (
        ("default", HELD, "kept, default", look.line(0)),
        ("default", RAMPED, "ramped up, default", {**look.line(0), "ls": ":"}),
        ("printed", RAMPED, "ramped up, printed law", {**look.line(7), "ls": ":"}),
    ):
        medians = [times(joined(tables, name, reading, which)).median().mean for name in ALPHAS]
        axes[0].plot(list(ALPHAS), medians, label=label, **line)
    axes[0].plot(["1", "1/32"], [2, 14], "*", ms=11, color=look.ink, label="the paper")
    axes[0].set(title="Round trips until a new flow has its share", xlabel="initial rate / max_rate", ylim=(0, None))
    axes[0].legend(frameon=False)
    axes[1].plot(shown["initial_rate"], shown["credits_wasted"], **look.line(0))
    axes[1].set(title="Credits that one packet wastes", xlabel="initial rate / max_rate", ylim=(0, None))
    return {"initial-rate": picture}


FIGURE = Figure(
    name="expresspass/fig08",
    title="ExpressPass '17, Fig. 7 and 8: how a flow starts, and what its first rate costs",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig08a-convergence-vs-initial-rate",
        "fig08b-credit-waste-vs-initial-rate",
        "fig07-credit-flow-state-machine",
    ),
    shown={"shown": "Round trips until a new flow has its share (medians over forty offsets), and credits wasted."},
    captions={"initial-rate": "Convergence and waste against the initial rate; stars are the paper's numbers"},
)
