"""One master on an 8-ary fat tree (128 hosts, 10 Gbps, 5 us a link) keeps asking 32 to 2,048 workers (requests of 200
B, responses of 1,000 B, open connections, several workers a host where they exceed the hosts). The paper shows
minimum, quartiles and maximum of the bottleneck's data queue: (b) under DCTCP, (c) under credits, with a red line
at the bound that path lengths and host processing (0.9 to 6.2 us) give.

Unstated, and chosen here:

* **Pacing of requests**: each worker is asked again as soon as its answer is there.
* **Duration and sampling**: 20 ms (quick: 10 ms), every 10 us, at the port of the master's ToR to the master, the
  first millisecond left out of the quartiles (not of the maximum, which the engine takes at every packet).
* **Feedback control**: both the naive scheme of section 2 and the full ExpressPass with its defaults (alpha =
  w_init = 1/16).
* **DCTCP**: K = 65 packets, g = 0.0625, initial window of 10 segments, least timeout 10 ms, buffers of 250 full
  frames.
* **Host delay**: none, and uniform over 0.9 to 6.2 us for each packet (the paper states the range only).
* **The bound**: paths between hosts take 4 to 12 hops there and back, so 20 to 60 us of propagation; a credit's
  data may be late by the difference of 40 us, by the transmission of a credit and a frame on four links more, and by
  the hosts' 5.3 us, at the link's rate. Eq. (1) of the paper also counts the credit queues on the way and is larger
  (`clearway plan buffers`, which computes both).
* The hypothetical ideal rate control of (a) has a figure of its own, `expresspass/fig01a`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.plan.buffers import path_and_hosts
from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.expresspass.common import COLORS, partition_aggregate
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.measures import data_drops, port
from clearway.result import Run
from clearway.runner import load_scenario

FAN_OUTS = (32, 64, 128, 256, 512, 1024, 2048)
TRANSPORTS: dict[str, dict[str, object]] = {
    "expresspass": {"name": "expresspass"},
    "naive": {"name": "naive-credit"},
    "dctcp": {"name": "dctcp", "g": 0.0625},
}
DELAYS: dict[str, object] = {"none": "0 s", "0.9-6.2 us": {"uniform": ["0.9 us", "6.2 us"]}}
DURATION_MS = {"quick": 10, "full": 20}


def bounds() -> dict[str, float]:
    """What path lengths and host delays bound the queue to, in bytes, by host delay."""
    scenarios = {
        delay: partition_aggregate("fig01", 1, 1, TRANSPORTS["expresspass"], host={"processing_delay": value})
        for delay, value in DELAYS.items()
    }
    return {delay: path_and_hosts(load_scenario(of), "tor0->h0") for delay, of in scenarios.items()}


def jobs(scale: str) -> list[Job]:
    """Every transport, fan-out and host delay."""
    return [
        Job(
            {"transport": name, "host_delay": delay, "fan_out": fan_out},
            partition_aggregate(
                "fig01", DURATION_MS[scale], fan_out, transport, host={"processing_delay": DELAYS[delay]}
            ),
        )
        for name, transport in TRANSPORTS.items()
        for delay in DELAYS
        for fan_out in FAN_OUTS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Quartiles of the queue at the master."""
    queue = run.samples.filter(pl.col("time_s") > 1e-3)["value"].to_numpy()
    master = port(run, "tor0->h0")
    low, lower, middle, upper = (float(np.percentile(queue, percent)) for percent in (0, 25, 50, 75))
    row = {
        "queue_min": low,
        "queue_p25": lower,
        "queue_p50": middle,
        "queue_p75": upper,
        "queue_max": int(master["queue_max_bytes"]),
        "queue_mean": float(master["queue_mean_bytes"]),
        "utilisation": float(master["utilisation"]),
        "answers": run.summary["flows_completed"],
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Kilobytes, for reading."""
    sizes = ["min", "p25", "p50", "p75", "max", "mean"]
    columns = [(pl.col(f"queue_{name}") / 1e3).round(2).alias(f"{name}_KB") for name in sizes]
    shown = tables["rows"].select("transport", "host_delay", "fan_out", *columns, "utilisation", "answers", "drops")
    return {**tables, "shown": shown}


def maxima(tables: Tables, transport: str, delay: str) -> list[float]:
    """The maximum queue by rising fan-out."""
    chosen = (pl.col("transport") == transport) & (pl.col("host_delay") == delay)
    return [float(value) for value in tables["rows"].filter(chosen).sort("fan_out")["queue_max"]]


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    limits = bounds()
    bounded = all(
        max(maxima(tables, name, delay)) <= limits[delay] for name in ("expresspass", "naive") for delay in DELAYS
    )
    most = {name: max(max(maxima(tables, name, delay)) for delay in DELAYS) for name in TRANSPORTS}
    least = max(maxima(tables, "dctcp", delay)[0] for delay in DELAYS)
    drops = tables["rows"].group_by("transport").agg(pl.col("drops").sum())
    lost = dict(drops.iter_rows())
    runs = tables["rows"].filter(pl.col("transport") != "dctcp").height
    ratio = most["dctcp"] / most["expresspass"]
    busy = 100 * tables["rows"].filter(pl.col("transport") == "expresspass")["utilisation"].to_numpy()
    here = claim("expresspass", "sec1-buffer-8x-less-than-dctcp")
    return [
        Finding(
            claim("expresspass", "fig01c-expresspass-queue-bounded"),
            f"at most {most['expresspass'] / 1e3:.1f} KB ({most['naive'] / 1e3:.1f} KB naive) at any fan-out",
            verdict(bounded),
            f"bound {limits['none'] / 1e3:.1f} KB, {limits['0.9-6.2 us'] / 1e3:.1f} KB with host delay; "
            f"the port is busy for {busy.min():.0f} to {busy.max():.0f} % of the time",
        ),
        Finding(
            claim("expresspass", "fig01b-dctcp-queue"),
            f"DCTCP's maximum grows from {least / 1e3:.1f} to {most['dctcp'] / 1e3:.1f} KB",
            "undecidable",
            f"beside the ideal rate control: see fig01a; at its buffer's limit DCTCP drops {lost['dctcp']:,} packets",
        ),
        Finding(
            here,
            f"{ratio:.0f} times (maxima of all runs)",
            "undecidable",
            "the paper does not name the experiment",
        ),
        Finding(
            claim("expresspass", "sec1-zero-data-loss"),
            f"{lost['expresspass'] + lost['naive']} packets",
            verdict(lost["expresspass"] + lost["naive"] == 0),
            f"in {runs} runs",
        ),
    ]


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Boxes from quartile to quartile, whiskers from least to most."""
    limits = bounds()
    picture, axes = grid(2, len(TRANSPORTS), height=2.6, sharey=True)
    cells = [(delay, name) for delay in DELAYS for name in TRANSPORTS]
    for place, (delay, name) in zip(axes, cells, strict=True):
        chosen = (pl.col("transport") == name) & (pl.col("host_delay") == delay)
        part = tables["rows"].filter(chosen).sort("fan_out")
        color = look.color(COLORS[name])
        for row in part.iter_rows(named=True):
            x = row["fan_out"]
            place.plot([x, x], [row["queue_min"], row["queue_max"]], color=color, lw=1.2)
            box = [x / 1.22, x * 1.22]
            top = max(row["queue_p75"], row["queue_p25"] + 1)
            place.fill_between(box, row["queue_p25"], top, color=color, alpha=0.35, lw=0)
            place.plot(box, [row["queue_p50"]] * 2, color=color, lw=2)
            place.plot([x], [row["queue_max"]], color=color, marker="v", ms=5)
        if name != "dctcp":
            place.axhline(limits[delay], color=look.color(4), lw=1.2, ls=(0, (5, 2)))
        powers(place, list(FAN_OUTS))
        place.tick_params(axis="x", labelrotation=45)
        place.set_yscale("symlog", linthresh=1000, linscale=0.5)
        place.set_ylim(0, 1e6)
        place.set_yticks([0, 1e3, 1e4, 1e5, 1e6], ["0", "1 KB", "10 KB", "100 KB", "1 MB"])
        place.minorticks_off()
        place.set_title(f"{name}, {'no host delay' if delay == 'none' else f'host delay {delay}'}", fontsize=10)
    for place in axes[-len(TRANSPORTS) :]:
        place.set_xlabel("fan-out")
    return {"queue": picture}


READING = """\
**Agrees.** The queue under credits does not grow with the fan-out, with or without spread of host delays: it stays
below 6 KB, a tenth of the bound, and is empty for most of the time. Nothing is lost. DCTCP's queue grows with the
fan-out until, from 512 workers on, it hits the buffer and drops.

**Open.** The paper's (b) compares DCTCP with an ideal rate control: `expresspass/fig01a` does. The naive scheme
has even shorter queues than the full one, and a lower load: its credits are wasted on workers that have one packet
to send.

**Also seen.** With answers of a single packet, most of the master's credits are wasted, so credits use less of its
link than DCTCP does (column `utilisation`). Bounded queues are not free here; the paper does not show this side of
Fig. 1.
"""

FIGURE = Figure(
    name="expresspass/fig01",
    title="ExpressPass '17, Fig. 1 (b) and (c): the queue at a master against the fan-out",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "The queue of the port to the master."},
    captions={
        "queue": "Queue at the port to the master: quartiles (box), least to most (whisker, triangle), bound (dashed)"
    },
    reading=READING,
)
