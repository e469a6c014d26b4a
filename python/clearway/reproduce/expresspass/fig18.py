"""Fig. 18 is the 99th percentile of completion times of S and L flows at a load of 0.6 on the tree of Fig. 19, with
alpha and w_init from 1/2 downwards. Fig. 20 is the share of credits that reach a sender with nothing to send, at 10
and 40 Gbps, with two settings.

Unstated, and chosen here:

* **Pairs of alpha and w_init**: both equal, 1/2 to 1/32.
* **Settings of Fig. 20**: 1/2 and 1/16. The text names the second only (E17-22).
* **Number of flows**: half of those of Fig. 19 at quick scale, the paper's 100,000 at full scale.
* **Idle timeout** after which a sender stops its credits: the base round-trip time (E17-11). Fig. 20 depends on it.
* **Other settings** as for Fig. 19: credits of 84 to 92 B; buffers of 384.5 KB, at 40 Gbps of 1,538 KB.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway import metrics
from clearway.reproduce.claims import Finding, Verdict, claim, verdict
from clearway.reproduce.expresspass.realistic import BUCKETS, FLOWS, FULL, WORKLOADS, expresspass, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import cost, data_drops
from clearway.result import Run

ALPHAS = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
FAST = (1 / 2, 1 / 16)
COLORS = {"web-server": 4, "cache-follower": 3, "web-search": 2, "data-mining": 6}


def jobs(scale: str) -> list[Job]:
    """Every workload and setting; two settings at 40 Gbps."""
    return [
        Job(
            {"workload": workload, "rate_gbps": rate, "alpha": alpha},
            scenario(
                "fig18", expresspass(alpha), workload, 0.6, FLOWS[workload] // 2 if scale == "quick" else FULL, rate
            ),
        )
        for workload in WORKLOADS
        for rate, alphas in ((10, ALPHAS), (40, FAST))
        for alpha in alphas
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Completion times by size, and credits."""
    row = {**cost(run), "credit_waste": metrics.credit_waste(run.flows), "drops": data_drops(run)}
    return {"rows": pl.DataFrame([row]), "sizes": metrics.fct_by_size(run.flows)}


def summarise(tables: Tables) -> Tables:
    """A row for each run."""
    late = [
        (pl.col("p99_s").filter(pl.col("bucket") == bucket).first() * 1e3).round(3).alias(f"{size}_p99_ms")
        for bucket, size in BUCKETS.items()
    ]
    keys = ["workload", "rate_gbps", "alpha"]
    by_size = tables["sizes"].group_by(keys, maintain_order=True).agg(late)
    waste = tables["rows"].select(*keys, (100 * pl.col("credit_waste")).round(1).alias("wasted_credits_%"), "drops")
    shown = by_size.join(waste, on=keys, how="left", maintain_order="left")
    fraction = (1 / pl.col("alpha")).round(0).cast(pl.Int64).cast(pl.String)
    return {**tables, "late": by_size, "shown": shown.with_columns(("1/" + fraction).alias("alpha"))}


def waste(tables: Tables, workload: str, rate: int, alpha: float) -> float:
    """The share of credits that were wasted, in per cent."""
    chosen = (pl.col("workload") == workload) & (pl.col("rate_gbps") == rate) & (pl.col("alpha") == alpha)
    return 100 * float(tables["rows"].filter(chosen)["credit_waste"].item())


def late(tables: Tables, workload: str, size: str) -> np.ndarray:
    """99th percentiles at 10 Gbps, from alpha = 1/2 downwards, in milliseconds."""
    chosen = (pl.col("workload") == workload) & (pl.col("rate_gbps") == 10)
    return tables["late"].filter(chosen).sort("alpha", descending=True)[f"{size}_p99_ms"].to_numpy().astype(float)


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    here = claim("expresspass", "fig18-parameter-sensitivity")
    short = {name: late(tables, workload, "S") for workload, name in WORKLOADS.items()}
    large = {name: late(tables, workload, "L") for workload, name in WORKLOADS.items()}
    rises = {name: values[3] / values[0] for name, values in short.items()}
    falls = {name: values[3] / values[0] for name, values in large.items()}
    holds = all(value > 1 for value in rises.values()) and all(value < 1 for value in falls.values())
    listed = ", ".join(f"{name} S x{rises[name]:.2f}, L x{falls[name]:.2f}" for name in rises)
    further = ", ".join(
        f"{name} S x{short[name][4] / short[name][3]:.2f}, L x{large[name][4] / large[name][3]:.2f}" for name in rises
    )
    found = [Finding(here, f"1/16 over 1/2: {listed}", verdict(holds), f"1/32 over 1/16: {further}")]
    here = claim("expresspass", "fig18-short-flow-cost-of-one-sixteenth")
    rise = 100 * (max(rises.values()) - 1)
    found.append(Finding(here, f"at most {rise:.0f} %", verdict(here.holds(rise)), "the largest of the workloads"))

    here = claim("expresspass", "fig20-credit-waste-web-server")
    cells = [
        (name, rate, waste(tables, "web-server", rate, alpha), here.value[name][f"{rate} Gbps"])
        for name, alpha in (("default", 1 / 2), ("alpha 1/16", 1 / 16))
        for rate in (10, 40)
    ]
    near = [abs(measured - expected) <= here.tolerance * expected for *_, measured, expected in cells]
    text = ", ".join(f"{name} {rate} Gbps {measured:.0f} %" for name, rate, measured, _ in cells)
    answer: Verdict = "reproduced" if all(near) else "undecidable" if any(near) else "not reproduced"
    note = "depends on when a sender stops its credits, which is unstated"
    found.append(Finding(here, text, answer, note))
    here = claim("expresspass", "fig20-credit-waste-trend")
    order = [waste(tables, workload, 10, 1 / 16) for workload in WORKLOADS]
    falling = all(first >= second for first, second in pairwise(order))
    faster = all(
        waste(tables, workload, 40, alpha) > waste(tables, workload, 10, alpha)
        for workload in WORKLOADS
        for alpha in FAST
    )
    lower = all(
        waste(tables, workload, rate, 1 / 16) < waste(tables, workload, rate, 1 / 2)
        for workload in WORKLOADS
        for rate in (10, 40)
    )
    text = ", ".join(f"{name} {value:.1f} %" for name, value in zip(WORKLOADS.values(), order, strict=True))
    more, less = ("always" if holds else "not always" for holds in (faster, lower))
    note = f"at 10 Gbps and 1/16; more at 40 Gbps: {more}; less at 1/16: {less}"
    found.append(Finding(here, text, verdict(falling and faster and lower), note))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Completion times against alpha, and wasted credits."""
    picture, axes = grid(1, 3, width=11.0, height=3.1)
    for workload, title in WORKLOADS.items():
        line = look.line(COLORS[workload])
        for place, size in zip(axes, ("S", "L"), strict=False):
            values = late(tables, workload, size)
            place.plot(range(len(ALPHAS)), values / values[0], label=title, lw=1.6, ms=4, **line)
    for place, size in zip(axes, ("S", "L"), strict=False):
        place.set_xticks(range(len(ALPHAS)), [f"1/{round(1 / alpha)}" for alpha in ALPHAS])
        place.set(title=f"99th percentile FCT, {size}", xlabel="alpha = w_init", ylabel="over that at 1/2")
        place.set_ylim(0, None)
    place = axes[2]
    cells = [(rate, alpha) for rate in (10, 40) for alpha in FAST]
    for i, workload in enumerate(WORKLOADS):
        x = np.arange(len(cells)) + (i - 1.5) * 0.2
        values = np.array([waste(tables, workload, rate, alpha) / 100 for rate, alpha in cells])
        place.bar(x, values, 0.18, color=look.color(COLORS[workload]), lw=0)
    place.set_xticks(range(len(cells)), [f"{rate} Gbps\n1/{round(1 / alpha)}" for rate, alpha in cells])
    place.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    place.grid(visible=False, axis="x")
    place.set_title("Wasted credits")
    legend(picture, axes[0], columns=4)
    return {"alpha": picture}


READING = """\
* **Fig. 20 agrees**: for Web Server 27 % at 10 Gbps and 44 % at 40 Gbps with 1/2, 15 % and 30 % with 1/16 (the paper:
  34, 60, 19, 31 %), and all trends: more for small flows, more at 40 Gbps, less at 1/16. Three of ours are lower, as
  a shorter idle timeout than the paper's would make them; that is unstated. It supports 1/2 as the setting that the
  paper does not name.
* **Fig. 18, S**: the cost of a small alpha is there, but larger: from 1/2 to 1/16 the 99th percentile rises by 82 to
  215 %, not by less than 100 % (Cache Follower and Data Mining are below, Web Server and Web Search above). First
  credits come 2.6 us apart at 1/2 and 20.8 us at 1/16, and an S flow of up to 7 frames lives on them. The paper's
  rises less if something else took as long at both, such as delays of hosts or queues. From 1/16 to 1/32 ours rise by
  another 9 to 41 %.
* **Fig. 18, L**: the gain is there for Web Server (0.76), which has 1,869 L flows in a run, and nothing more below
  1/16, as the paper says. The others have 14 (Data Mining), 145 (Web Search) and 355 (Cache Follower) L flows at
  quick scale; the 99th percentile is then one to four flows, and their lines show it: they decide nothing.
"""

FIGURE = Figure(
    name="expresspass/fig18",
    title="ExpressPass '17, Fig. 18 and 20: the first rate of credits, and credits that are wasted",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "99th percentile of completion times by size, and wasted credits."},
    captions={
        "alpha": "99th percentile of completion times of S and L flows against alpha = w_init, and wasted credits"
    },
    reading=READING,
)
