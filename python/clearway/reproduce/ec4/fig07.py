"""A shuffle below one ToR: 40 servers, half of them EC4 (or ExpressPass), half DCTCP; each sends 5.12 MB to the others,
30 times, and gets responses of about 16 KB. The paper shows the distribution of completion times of the heavy flows.

Unstated, and chosen here:

* **Who speaks what**: the sender decides. If pairs were inside a protocol (EC4-15), no two protocols would ever share
  a link of a single switch.
* **Links**: 10 Gbps and 1 us, as far as there are numbers; K = 100 frames, 250 frames of buffer.
* **Flows**: 36, for the 30, from each server to each of the 39 others, all at random within 1 ms ("randomly without
  interruption"), so that 1,404 end at a server at a time.
* **Size**: the paper's takes more than ten hours, so the scale `paper` has 4, 9 and 16 messages of 64 KB instead of 36
  of 5.12 MB (1/720, 1/320 and 1/180 of the bytes), `quick` the first of these. Times are scaled up in proportion to
  the bytes of a server (EC4-14).
* **Mini flows**: as many of 16 KB (smaller sizes: a quarter), at random within the time that the heavy flows take.
* **DCTCP's least timeout**: 10 ms.
* **Spread**: EC4 and ExpressPass also with flows that start at random within the time that the bytes of a server take.
* **Whose times**: all flows' (EC4-13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import DCTCP, MIXED, SWITCH, mean, of_seeds
from clearway.reproduce.expresspass.realistic import FEW
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, done_and_left, grid, legend
from clearway.reproduce.quantities import data_drops
from clearway.result import Run

HOSTS = 40
#: Tasks of a host, those of them that send mini flows, and bytes of a heavy flow; at smaller sizes by their share.
PAPER = (6, 6, 5_120_000)
SMALLER = {1 / 720: (2, 1, 64_000), 1 / 320: (3, 1, 64_000), 1 / 180: (4, 2, 64_000)}
PAPER_SIZE, PAPER_TIMES, MINI = 5_120_000, 30, 16_000
RATE = 10e9
#: Name -> what half of the servers speak, whether flows start within the time that their bytes take.
CASES: dict[str, tuple[dict[str, Any], bool]] = {
    **{name: (made, False) for name, made in MIXED.items()},
    "ec4, spread": (MIXED["ec4"], True),
    "expresspass, spread": (MIXED["expresspass"], True),
}
COLORS = {**own("ec4", "expresspass"), "expresspass, ns2": 6}
MEASURES = {"median": "median_s", "p99": "p99_s", "max": "max_s"}


def jobs(scale: str) -> list[Job]:
    """The runs at quick scale, or of all bytes of the paper."""
    return runs(*(SMALLER[1 / 720] if scale == "quick" else PAPER), stats.SEEDS, stats.SEEDS)


def at(size: float) -> list[Job]:
    """The runs at a smaller size than the paper's."""
    return runs(*SMALLER[size], FEW, FEW[:1])


def runs(tasks: int, minis: int, size: int, seeds: Sequence[int], beside: Sequence[int]) -> list[Job]:
    """Every transport and seed; with the seeds `beside` those that no verdict rests on."""
    return [
        job(name, tasks, minis, size, seed)
        for name in CASES
        for seed in (seeds if name in ("ec4", "expresspass") else beside)
    ]


def job(name: str, tasks: int, minis: int, size: int, seed: int) -> Job:
    """The job of one shuffle."""
    transport, spread_out = CASES[name]
    busy_s = tasks**2 * (HOSTS - 1) * size * 8 / 9.49e9
    spread = {"heavy": f"{busy_s * 1e3:.3f} ms" if spread_out else "1 ms", "mini": f"{busy_s * 1e3:.3f} ms"}
    weights = (("heavy", tasks, size), ("mini", minis, MINI))
    halves = (("credits", transport, 0.0), ("dctcp", DCTCP, 0.5))
    return Job(
        {"case": name, "repeats": tasks**2, "minis": minis**2, "size_bytes": size, "seed": seed},
        {
            "name": "fig07",
            "seed": seed,
            "topology": {"kind": "star", "hosts": HOSTS, "rate": f"{RATE / 1e9:.0f} Gbps", "delay": "1 us"},
            "switch": SWITCH,
            "traffic": [
                {
                    "name": f"{weight} {part}",
                    "kind": "shuffle",
                    "transport": made,
                    "senders": {"share": 0.5, "from": start},
                    "tasks": count,
                    "size": f"{each} B",
                    "spread": spread[weight],
                }
                for weight, count, each in weights
                for part, made, start in halves
            ],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Quantiles of completion times, of all and by protocol; the distribution for the first seed."""
    share = np.concatenate([np.linspace(0, 0.99, 199), np.linspace(0.99, 1, 101)[1:]])
    rows, points = [], []
    for weight in ("heavy", "mini"):
        for part in ("all", "credits", "dctcp"):
            name = pl.col("traffic")
            chosen = name.str.starts_with(weight) if part == "all" else name == f"{weight} {part}"
            flows = run.flows.filter(chosen)
            fct = metrics.completed(flows)["fct_s"].to_numpy()
            rows.append(
                {
                    "weight": weight,
                    "part": part,
                    "flows": len(flows),
                    "finished": len(fct),
                    "median_s": stats.percentile(fct, 50),
                    "p99_s": stats.percentile(fct, 99),
                    "max_s": float(fct.max()),
                    "timeouts": int(flows["timeouts"].sum()),
                    "drops": data_drops(run),
                }
            )
            if job.params["seed"] == stats.SEEDS[0]:
                quantiles = pl.DataFrame({"share": share, "fct_s": np.quantile(fct, share)})
                points.append(quantiles.with_columns(pl.lit(weight).alias("weight"), pl.lit(part).alias("part")))
    empty = pl.DataFrame(schema={"share": pl.Float64, "fct_s": pl.Float64, "weight": pl.String, "part": pl.String})
    return {"rows": pl.DataFrame(rows), "points": pl.concat(points) if points else empty}


def summarise(tables: Tables) -> Tables:
    """Milliseconds, means over seeds, for reading."""
    columns = [(pl.col(f"{name}_s").mean() * 1e3).round(1).alias(f"{name}_ms") for name in MEASURES]
    shown = (
        tables["rows"]
        .group_by("case", "weight", "part", maintain_order=True)
        .agg(pl.col("finished").sum(), *columns, pl.col("timeouts").mean(), pl.col("drops").mean())
    )
    return {**tables, "shown": shown}


def scale_of(tables: Tables) -> float:
    """The factor by which a server of the paper sends more bytes."""
    repeats, minis, size = tables["rows"].select("repeats", "minis", "size_bytes").row(0)
    return PAPER_TIMES * (PAPER_SIZE + MINI) / (int(repeats) * int(size) + int(minis) * MINI)


def least_s(rate: float = RATE, share: float = 1.0) -> float:
    """The time before which this share of a server's messages can't have left it, whatever the order."""
    return share * PAPER_TIMES * (HOSTS - 1) * PAPER_SIZE * 8 / rate


def causes() -> dict[str, judge.Calculation]:
    """The calculations that show why the paper's times can't come out, by the name of the measure."""
    messages = f"{PAPER_TIMES} messages of 5.12 MB to each of {HOSTS - 1} servers"
    starving = (
        f"ExpressPass's {HOSTS // 2} senders fill at most half of the {HOSTS} receivers' links, and DCTCP's "
        f"{HOSTS // 2} need the other half, so neither can starve the other."
    )
    fast = f"over full links of 40 Gbps all have after {least_s(4 * RATE):.1f} s"
    return {
        "median": judge.Calculation(
            f"Of {messages}, half can't have left their server before {least_s(share=0.5):.1f} s at 10 Gbps in "
            f"whatever order, and the paper's medians are 0.9 and 1.18 s; {fast}, and the paper's last ends at 2.35 s."
        ),
        "p99": judge.Calculation(
            f"Of {messages}, 99 % can't have left their server before {least_s(share=0.99):.1f} s at 10 Gbps, and the "
            f"paper has 2.25 s; {fast}. {starving}"
        ),
        "max": judge.Calculation(
            f"{messages} can't have left their server before {least_s():.1f} s at 10 Gbps, and the paper has 2.35 s; "
            f"{fast}. {starving}"
        ),
    }


def times(tables: Tables, case: str, column: str, weight: str = "heavy", part: str = "all") -> stats.Estimate:
    """A measure, as simulated."""
    return mean(tables, column, case=case, weight=weight, part=part)


def against(tables: Tables, column: str, weight: str = "heavy", also: str = "") -> stats.Estimate:
    """EC4's time over ExpressPass's, paired by seed."""
    ours, theirs = (
        of_seeds(tables, column, case=f"{case}{also}", weight=weight, part="all") for case in ("ec4", "expresspass")
    )
    return stats.paired_ratio(ours, theirs)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    found = []
    factor, why = scale_of(tables), causes()
    for name, column in MEASURES.items():
        measured: dict[str, judge.Measured] = {
            shown: times(tables, case, column).scaled(factor)
            for shown, case in (("ExpressPass", "expresspass"), ("EC4", "ec4"))
        }
        over = against(tables, column)
        note = (
            f"EC4's over ExpressPass's: {over.text('.3f')}; times scaled up {factor:.3g} times; "
            f"ns2: {times(tables, 'expresspass, ns2', column).scaled(factor).text('.2f')} s"
        )
        here = claim("ec4", f"fig07-shuffle-{name}-fct")
        found.append(
            judge.judge(here, {**measured, "EC4 over ExpressPass": over}, form=".2f", note=note, cause=why[name])
        )
    mini = {name: against(tables, column, "mini") for name, column in MEASURES.items()}
    text = ", ".join(f"{name} {value.text('.2f')}" for name, value in mini.items())
    here = claim("ec4", "sec4b-mini-flow-fct")
    return [*found, judge.judge(here, mini, text=f"EC4's over ExpressPass's: {text}")]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: ratios of EC4's times to ExpressPass's, and losses."""
    named = {"ec4": "ec4", "expresspass": "ep", "expresspass, ns2": "ns2"}
    found: dict[str, object] = {"least_10": least_s(), "half_10": least_s(share=0.5), "least_40": least_s(4 * RATE)}
    found |= {
        f"{weight}_{name}": against(tables, column, weight).mean
        for weight in ("heavy", "mini")
        for name, column in MEASURES.items()
    }
    found |= {f"spread_{name}": against(tables, column, also=", spread").mean for name, column in MEASURES.items()}
    for case, short in named.items():
        found[f"drops_{short}"] = times(tables, case, "drops").mean
        for part in ("credits", "dctcp"):
            found[f"timeouts_{short}_{part}"] = times(tables, case, "timeouts", part=part).mean
            found[f"p99_{short}_{part}"] = times(tables, case, "p99_s", part=part).mean * 1e3
            found[f"median_{short}_{part}"] = times(tables, case, "median_s", part=part).mean * 1e3
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The distribution, and its tail."""
    picture, axes = grid(1, 2, width=10.0, height=3.2)
    for name, color in COLORS.items():
        part = tables["points"].filter(
            (pl.col("case") == name) & (pl.col("weight") == "heavy") & (pl.col("part") == "all")
        )
        done_and_left(axes, part, name, look.line(color))
    axes[0].set(title="Heavy flows that are done", xlabel="FCT (ms)")
    axes[0].set_xlim(0, None)
    axes[1].set(title="Heavy flows that are not", xlabel="FCT (ms)", yscale="log", ylim=(1e-4, 1.1))
    axes[1].set_yticks([1, 0.1, 0.01, 0.001, 0.0001], ["100%", "10%", "1%", "0.1%", "0.01%"])
    axes[1].minorticks_off()
    legend(picture, axes[0], columns=5)
    return {"fct": picture}


FIGURE = Figure(
    name="ec4/fig07",
    title="EC4, Fig. 7: a shuffle among 40 hosts, half of them DCTCP",
    doc=__doc__,
    jobs=jobs,
    at=at,
    sizes=tuple(SMALLER),
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={"shown": "Completion times as simulated, means over seeds."},
    captions={"fct": "Completion times of the heavy flows of both protocols: distribution, and its tail"},
    claims=(
        "fig07-shuffle-median-fct",
        "fig07-shuffle-p99-fct",
        "fig07-shuffle-max-fct",
        "sec4b-mini-flow-fct",
    ),
)
