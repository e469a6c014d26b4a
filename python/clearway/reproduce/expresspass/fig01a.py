"""Fig. 1 (a): one master on an 8-ary fat tree (128 hosts, 10 Gbps, 5 us a link) keeps asking 32 to 2,048 workers for
1,000 B each (requests of 200 B, open connections). Every worker sends at its exact share of the moment and paces its
packets perfectly: *ideal*. The paper shows minimum, quartiles and maximum of the queue at the master, and draws the
worst case (red): all packets of a round at once, one from each flow.

The settings are those of Fig. 1 (b) and (c) on their page. Unstated, and chosen here:

* **Pacing of requests**: each worker is asked again as soon as its answer is there.
* **Duration and sampling**: 20 ms (quick: 10 ms), every 10 us, at the port of the master's ToR to the master, the
  first millisecond left out of the quartiles (not of the maximum, which the engine takes at every packet).
* **ideal**: the max-min share of all flows that have something to send, at the instant at which one starts or ends
  (`docs/protocols/ideal.md`). No buffer limit, as the figure is about what the rates alone give.
* **DCTCP** (K = 65 frames, g = 0.0625, initial window of ten segments) and **ExpressPass** beside it, buffers of
  384.5 KB, no host delay.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.expresspass.common import partition_aggregate
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.measures import data_drops, port
from clearway.result import Run

FAN_OUTS = (32, 64, 128, 256, 512, 1024, 2048)
#: Name -> transport, buffer of a port.
TRANSPORTS: dict[str, tuple[dict[str, object], str]] = {
    "ideal": ({"name": "ideal"}, "unlimited"),
    "dctcp": ({"name": "dctcp", "g": 0.0625}, "384.5 KB"),
    "expresspass": ({"name": "expresspass"}, "384.5 KB"),
}
COLORS = {"ideal": 2, "dctcp": 1, "expresspass": 0}
DURATION_MS = {"quick": 10, "full": 20}
#: An answer on the wire.
ANSWER = 1078


def jobs(scale: str) -> list[Job]:
    """Every transport and fan-out."""
    return [
        Job(
            {"transport": name, "fan_out": fan_out},
            partition_aggregate("fig01a", DURATION_MS[scale], fan_out, transport, switch={"buffer": buffer}),
        )
        for name, (transport, buffer) in TRANSPORTS.items()
        for fan_out in FAN_OUTS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Quartiles of the queue at the master, in bytes."""
    queue = run.samples.filter(pl.col("time_s") > 1e-3)["value"].to_numpy()
    master = port(run, "tor0->h0")
    row = {
        **{f"p{percent}": float(np.percentile(queue, percent)) for percent in (0, 25, 50, 75)},
        "max": float(master["queue_max_bytes"]),
        "utilisation": float(master["utilisation"]),
        "answers": int(run.summary["flows_completed"]),
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Packets, for reading."""
    columns = [(pl.col(name) / ANSWER).round(1).alias(f"{name}_packets") for name in ("p0", "p25", "p50", "p75", "max")]
    shown = tables["rows"].select("transport", "fan_out", *columns, pl.col("utilisation").round(3), "answers", "drops")
    return {**tables, "shown": shown}


def exponent(fan_outs: list[float], queues: list[float]) -> float:
    """The slope of the queue against the fan-out on logarithmic axes, by least squares: 1 if they are proportional."""
    return float(np.polyfit(np.log(fan_outs), np.log(np.maximum(queues, 1.0)), 1)[0])


def check(tables: Tables) -> list[Finding]:
    """The claim: proportional growth of the maximum."""
    part = {name: tables["rows"].filter(pl.col("transport") == name).sort("fan_out") for name in TRANSPORTS}
    most = {name: [float(value) / ANSWER for value in rows["max"]] for name, rows in part.items()}
    fan_outs = [float(value) for value in FAN_OUTS]
    slope = exponent(fan_outs, most["ideal"])
    rising = all(first < second for first, second in pairwise(most["ideal"]))
    low, high = most["ideal"][0], most["ideal"][-1]
    text = f"maximum {low:.0f} packets at 32 and {high:.0f} at 2,048: as the fan-out to the power {slope:.2f}"
    xpass = exponent(fan_outs, most["expresspass"])
    return [
        Finding(
            claim("expresspass", "fig01a-ideal-rate-queue"),
            text,
            verdict(rising and 0.8 <= slope <= 1.3),
            f"ours counts powers of 0.8 to 1.3 as about linear; DCTCP {most['dctcp'][0]:.0f} to "
            f"{most['dctcp'][-1]:.0f} packets, ExpressPass {most['expresspass'][0]:.1f} to "
            f"{most['expresspass'][-1]:.1f} (power {xpass:.2f})",
        ),
        Finding(
            claim("expresspass", "fig01b-dctcp-queue"),
            f"maximum of DCTCP over that of ideal: {most['dctcp'][0] / most['ideal'][0]:.1f} at 32, "
            f"{max(a / b for a, b in zip(most['dctcp'], most['ideal'], strict=True)):.1f} at most",
            verdict(all(a >= b for a, b in zip(most["dctcp"][:-2], most["ideal"][:-2], strict=True))),
            f"up to 512; then DCTCP meets its buffer of {384_500 / ANSWER:.0f} packets and drops "
            f"{part['dctcp']['drops'].sum():,}, ideal has no limit",
        ),
    ]


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Boxes from quartile to quartile, whiskers from least to most, and a packet a flow as a line."""
    picture, axes = grid(1, len(TRANSPORTS), width=10.4, height=3.0, sharey=True)
    for place, name in zip(axes, TRANSPORTS, strict=True):
        color = look.color(COLORS[name])
        for row in tables["rows"].filter(pl.col("transport") == name).iter_rows(named=True):
            x, packets = row["fan_out"], {key: row[key] / ANSWER for key in ("p0", "p25", "p50", "p75", "max")}
            place.plot([x, x], [packets["p0"], packets["max"]], color=color, lw=1.2)
            box = [x / 1.22, x * 1.22]
            place.fill_between(box, packets["p25"], packets["p75"], color=color, alpha=0.35, lw=0)
            place.plot(box, [packets["p50"]] * 2, color=color, lw=2)
            place.plot([x], [packets["max"]], color=color, marker="v", ms=5)
        place.plot(FAN_OUTS, FAN_OUTS, color=look.color(4), lw=1.2, ls=(0, (5, 2)))
        powers(place, list(FAN_OUTS))
        place.tick_params(axis="x", labelrotation=45)
        place.set_yscale("symlog", linthresh=1, linscale=0.4)
        place.set_ylim(0, 5000)
        place.set_yticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1,000"])
        place.minorticks_off()
        place.set(title=name, xlabel="fan-out")
    axes[0].set_ylabel("queue (packets)")
    return {"queue": picture}


READING = """\
* **Agrees**: even with exact shares and perfect pacing the maximum grows about in proportion to the number of flows:
  14 packets at 32 (where the port is busy for 61 % of the time only), a packet from each flow from 128 on. Rates
  alone do not stop packets of many flows from meeting.
* **ExpressPass** has at most 4.4 packets at any fan-out. It pays with throughput: each answer is one packet that
  first asks for credits, so the master gets 9,200 answers in the time in which ideal brings 23,400 (at 2,048).
* **DCTCP is not worse than ideal here**, as Fig. 1 (b) has it, but the same up to 256: each worker has one answer of
  one packet outstanding, and no window is smaller than that, so a window has nothing to control. It would have if the
  master asked again before the answer came; "continuously generates requests" leaves that open. From 512 on DCTCP is
  at the limit of its buffer and drops, and ideal has none.
"""

FIGURE = Figure(
    name="expresspass/fig01a",
    title="ExpressPass '17, Fig. 1 (a): the queue under an ideal rate control",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "The queue at the master, in answers of 1,078 B on the wire."},
    captions={
        "queue": "Queue at the port to the master: quartiles (box), least to most (whisker, triangle), and a packet "
        "from each flow (dashed)"
    },
    reading=READING,
)
