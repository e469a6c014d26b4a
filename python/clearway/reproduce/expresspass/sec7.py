"""Section 7 names two ways to lose less bandwidth to credits that are wasted by short flows, and measures neither: to
tell the end of a flow in advance, and to send data of low priority without credits, as RC3 does. Here both are
options, measured on the tree of Fig. 19 at a load of 0.6.

Chosen here, since the paper has no more than the ideas:

* **early stop** is what the authors' ns-2 code does: the sender stops its credits once those of a round trip cover
  what is left.
* **end told** (`tell_end`): requests say how many bytes there are. The receiver then sends no more credits than what
  has not arrived takes, and a margin (`end_margin`, a share of it, rounded up). Credits of which nothing was heard
  for a round trip and a quarter count as lost, and others take their place.
* **low priority** (`low_priority` 1): up to a bandwidth-delay product of a flow is under way without credits, in a
  class that yields to all others at every port and card, with room for 32 frames. RC3 sends from the end of a flow;
  here from its front, since a credit pays for any frame. What is lost goes again with credits, before new data; a
  credit that finds nothing else repeats a frame that is under way without one. So no frame takes more than one
  credit, but where one with a credit is lost. A connection that is being opened sends nothing before its SYN is
  answered.
* **Who is hurt**: at a load of 0.3 plus 0.3, half of the flows are plain ExpressPass; the other half has an option.
* **Other settings** as for Fig. 18 and 20; 1/2 and 1/16 are alpha and w_init. At quick scale five seeds of 1,000 (Web
  Server) and 300 flows (Cache Follower), of which those in the first and last tenth of the time are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway import metrics
from clearway.reproduce import stats
from clearway.reproduce.claims import Finding
from clearway.reproduce.expresspass.realistic import BUCKETS, FEW, expresspass, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import cost, data_drops, steady
from clearway.result import Run

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "early stop": {"early_stop": True},
    "end told, margin 0": {"tell_end": True, "end_margin": 0},
    "end told, margin 0.1": {"tell_end": True},
    "end told, margin 1": {"tell_end": True, "end_margin": 1},
    "low priority": {"low_priority": 1},
    "low priority, end told": {"low_priority": 1, "tell_end": True},
}
BESIDE = ("default", "end told, margin 0.1", "low priority", "low priority, end told")
FLOWS = {"web-server": (1_000, 50_000), "cache-follower": (300, 20_000)}
ALPHAS = (1 / 2, 1 / 16)
COLORS = (0, 1, 2, 3, 6, 7, 8)


def jobs(scale: str) -> list[Job]:
    """Every option alone, and options beside plain ExpressPass."""
    found = []
    for workload, counts in FLOWS.items():
        flows = counts[scale != "quick"]
        for alpha in ALPHAS:
            for seed in stats.SEEDS if scale == "quick" else FEW:
                params = {"workload": workload, "alpha": alpha, "seed": seed}
                for option, values in OPTIONS.items():
                    with_option = {**expresspass(alpha), **values}
                    made = scenario("sec7", with_option, workload, 0.6, flows)
                    found.append(Job({**params, "option": option, "share": "all"}, {**made, "seed": seed}))
                for option in BESIDE:
                    made = scenario("sec7", expresspass(alpha), workload, 0.3, flows // 2)
                    with_option = {**expresspass(alpha), **OPTIONS[option]}
                    other = {**made["traffic"][0], "name": "other", "transport": with_option}
                    mixed = {**made, "seed": seed, "traffic": [made["traffic"][0], other]}
                    found.append(Job({**params, "option": option, "share": "half"}, mixed))
    return found


def measure(_: Job, run: Run) -> Tables:
    """Mean completion times by size of the plain traffic, or of all, and credits."""
    sent, again = (float(run.flows[name].sum()) for name in ("data_packets", "retransmits"))
    flows = metrics.with_bucket(metrics.completed(steady(run.flows))).filter(pl.col("traffic") == "flows")
    of = {size: flows.filter(pl.col("bucket") == bucket)["fct_s"].to_numpy() * 1e3 for bucket, size in BUCKETS.items()}
    row = {
        **cost(run),
        "mean_ms": metrics.mean(flows["fct_s"].to_numpy()) * 1e3,
        **{f"{size}_ms": metrics.mean(of[size]) for size in ("S", "M", "L")},
        "S_p90_ms": stats.percentile(of["S"], 90),
        "wasted_credits_%": 100 * metrics.credit_waste(run.flows),
        "sent_again_%": 100 * again / sent,
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


COLUMNS = ("mean_ms", "S_ms", "M_ms", "L_ms", "S_p90_ms", "wasted_credits_%", "sent_again_%")


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    groups = tables["rows"].group_by("share", "workload", "alpha", "option", maintain_order=True)
    means = groups.agg(pl.col(COLUMNS).mean().round(3), pl.col("drops").sum())
    name = ("1/" + (1 / pl.col("alpha")).round(0).cast(pl.Int64).cast(pl.String)).alias("alpha")
    parts = {share: means.filter(pl.col("share") == share).drop("share") for share in ("all", "half")}
    return {
        **tables,
        "times": parts["all"],
        "shown": parts["all"].with_columns(name),
        "shown_beside": parts["half"].drop("wasted_credits_%", "sent_again_%", "drops").with_columns(name),
    }


def check(_: Tables) -> list[Finding]:
    """The paper claims nothing of this."""
    return []


def over_default(
    tables: Tables, column: str, option: str, alpha: float, workload: str = "web-server", share: str = "all"
) -> stats.Estimate:
    """A measure with an option over that without, paired by seed."""
    same = {"workload": workload, "alpha": alpha, "share": share}
    return stats.paired_ratio(
        *(stats.per_seed(tables["rows"], column, option=one, **same) for one in (option, "default"))
    )


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    names = {
        "told": "end told, margin 0.1",
        "early": "early stop",
        "low": "low priority",
        "both": "low priority, end told",
    }
    for short, option in names.items():
        for alpha in ALPHAS:
            at = f"{short}_{round(1 / alpha)}"
            found[f"mean_{at}"] = over_default(tables, "mean_ms", option, alpha).mean
            found[f"large_{at}"] = over_default(tables, "L_ms", option, alpha).mean
            found[f"late_{at}"] = over_default(tables, "S_p90_ms", option, alpha).mean
            if option in BESIDE:
                found[f"plain_{at}"] = over_default(tables, "mean_ms", option, alpha, share="half")
    for short, option in (("default", "default"), *names.items()):
        for alpha in ALPHAS:
            chosen = {"workload": "web-server", "alpha": alpha, "option": option, "share": "all"}
            for fact, column in (("waste", "wasted_credits_%"), ("again", "sent_again_%")):
                found[f"{fact}_{short}_{round(1 / alpha)}"] = stats.over_seeds(tables["rows"], column, **chosen).mean
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Wasted credits and completion times of every option."""
    panels = [
        ("wasted_credits_%", "Wasted credits"),
        ("mean_ms", "Mean FCT, all flows"),
        ("S_p90_ms", "90th percentile FCT, S"),
        ("L_ms", "Mean FCT, L"),
    ]
    picture, axes = grid(2, 2, width=9.6, height=3.0)
    groups = [(workload, alpha) for workload in FLOWS for alpha in ALPHAS]
    for place, (column, title) in zip(axes, panels, strict=True):
        for i, option in enumerate(OPTIONS):
            x = np.arange(len(groups)) + (i - (len(OPTIONS) - 1) / 2) * 0.12
            values = [value(tables["times"], *group, option, column) for group in groups]
            base = [value(tables["times"], *group, "default", column) for group in groups]
            relative = np.array(values) / (100 if column.endswith("%") else np.array(base))
            place.bar(x, relative, 0.11, color=look.color(COLORS[i]), lw=0, label=option)
        names = {"web-server": "Web\nServer", "cache-follower": "Cache\nFollower"}
        place.set_xticks(range(len(groups)), [f"{names[w]}\n1/{round(1 / a)}" for w, a in groups])
        place.grid(visible=False, axis="x")
        place.set_title(title)
        if column.endswith("%"):
            place.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        else:
            place.set_ylabel("over that of the default")
    legend(picture, axes[0], columns=4)
    return {"options": picture}


def value(times: pl.DataFrame, workload: str, alpha: float, option: str, column: str) -> float:
    """One number of the table."""
    chosen = (pl.col("workload") == workload) & (pl.col("alpha") == alpha) & (pl.col("option") == option)
    return float(times.filter(chosen)[column].item())


FIGURE = Figure(
    name="expresspass/sec7",
    title="ExpressPass '17, section 7: the end told in advance, data without credits",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={
        "shown": "All flows with one option: completion times by size, credits wasted, frames sent again; "
        "means over the seeds.",
        "shown_beside": "Half of the flows with an option: completion times of the other half, plain ExpressPass.",
    },
    captions={"options": "Wasted credits and completion times with each option, at alpha = w_init = 1/2 and 1/16"},
)
