"""A parking lot of N = 1 to 6 bottlenecks: one long flow over all, and a cross flow on each. The paper reports the
utilisation of the link that is used least, normalised to the data rate that is possible beside credits, with
feedback control and without (naive).

Unstated, and chosen here:

* **Rate, delay, duration**: 10 Gbps, 4 us a link (as in the other networks of the paper); 100 ms (quick: 60 ms)
  after 10 ms of start-up; five seeds. At quick scale only ExpressPass and naive credits run over all numbers of
  bottlenecks, the others over 2 and 6.
* **Sizes of credits**: 76 to 92 B, the default; 84 B each beside it ("fixed sizes"). "The maximum data rate" is
  94.8 % of the link in both.
* **alpha and w_init**: the defaults, 1/2 and 1/16; flows are long, so that they only matter for the start.
* **Drops** of a full credit queue: the credit that arrives, the default; one at random of all beside it (E17-32).
* **Fluid model** of the naive scheme: where each cross flow takes as many of the long flow's credits as come in
  proportion, 1/2 + 1/(N + 1) of the last link is used; where a full credit queue drops half of what is left at each
  link, 1/2 + 2^-N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import ABOUT_READINGS, COLORS, READINGS
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import CEILING, data_drops
from clearway.result import Run

BOTTLENECKS = (1, 2, 3, 4, 5, 6)
#: Numbers of bottlenecks that the paper gives numbers for.
ENDS = (2, 6)
#: Transports that are run: the readings of ExpressPass with feedback, and naive credits.
VARIANTS: dict[str, dict[str, Any]] = {
    **READINGS,
    "fixed sizes": {"name": "expresspass", "randomize_size": False},
    "naive": {"name": "naive-credit"},
    "naive, fixed sizes": {"name": "naive-credit", "randomize_size": False},
    "naive, random drops": {"name": "naive-credit", "credit_drop": "random"},
}
DURATION_MS = {"quick": 60, "paper": 100}
WARM_UP_MS = 10


def jobs(scale: str) -> list[Job]:
    """Every reading, number of bottlenecks and seed."""
    return [
        Job(
            {"transport": name, "bottlenecks": count, "seed": seed},
            scenario("fig10", transport, count, seed, DURATION_MS[scale]),
        )
        for name, transport in VARIANTS.items()
        for count in (BOTTLENECKS if scale == "paper" or name in ("expresspass", "naive") else ENDS)
        for seed in stats.SEEDS
    ]


def scenario(name: str, transport: Mapping[str, Any], bottlenecks: int, seed: int, span_ms: int) -> dict[str, Any]:
    """One long flow over all bottlenecks and a cross flow on each, measured for `span_ms` after the start-up."""
    every = f"{WARM_UP_MS} ms"
    links = [f"s{i}->s{i + 1}" for i in range(bottlenecks)]
    return {
        "name": name,
        "seed": seed,
        "stop": f"{WARM_UP_MS + span_ms} ms",
        "topology": {"kind": "parking-lot", "bottlenecks": bottlenecks, "rate": "10 Gbps", "delay": "4 us"},
        "transport": transport,
        "traffic": [{"kind": "long"}],
        "sample": [
            {"name": "rate", "what": "rate", "every": every, "ports": links},
            {"name": "throughput", "what": "throughput", "every": every},
        ],
    }


def measure(_: Job, run: Run) -> Tables:
    """Utilisation of the least used link, and the share of the long flow."""
    after = run.samples.filter(pl.col("time_s") > WARM_UP_MS * 1.01e-3)
    means = after.group_by("series", "entity").agg(pl.col("value").mean())
    links = means.filter(pl.col("series") == "rate")["value"].to_numpy()
    flows = means.filter(pl.col("series") == "throughput").sort("entity")
    capacity = 10e9 * CEILING
    row = {
        "utilisation_min": float(links.min()) / capacity,
        "long_flow": float(flows["value"][0]) * 1538 / 1460 / capacity,
        "queue_max_bytes": int(run.ports["queue_max_bytes"].max()),  # type: ignore[arg-type]
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    summary = (
        tables["rows"]
        .group_by("transport", "bottlenecks", maintain_order=True)
        .agg(
            pl.col("utilisation_min").mean(),
            pl.col("utilisation_min").min().alias("least_seed"),
            pl.col("utilisation_min").max().alias("most_seed"),
            pl.col("long_flow").mean(),
            pl.col("drops").sum(),
        )
    )
    percent = (100 * pl.col("utilisation_min")).round(1)
    shown = summary.with_columns(percent).pivot(on="bottlenecks", index="transport", values="utilisation_min")
    return {**tables, "summary": summary, "shown": shown}


def used(tables: Tables, transport: str, bottlenecks: int) -> stats.Estimate:
    """Utilisation of the least used link in per cent."""
    percent = 100 * pl.col("utilisation_min")
    return stats.over_seeds(tables["rows"], percent, transport=transport, bottlenecks=bottlenecks)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    measured = {name: {str(count): used(tables, name, count) for count in ENDS} for name in VARIANTS}

    def beside(*names: str) -> str:
        return "; ".join(f"{name}: {', '.join(f'{one.mean:.1f}' for one in measured[name].values())}" for name in names)

    here = claim("expresspass", "fig10-parking-lot-feedback")
    readings = {"sigcomm17-printed": improved(tables, "printed"), "ns2": improved(tables, "ns2 profile")}
    found = [
        judge.judge(
            here,
            improved(tables, "expresspass"),
            form=".1f",
            note=beside("printed", "ns2 profile", "fixed sizes"),
            readings=readings,
        )
    ]
    here = claim("expresspass", "fig10-parking-lot-naive")
    falls = stats.paired_ratio(by_seed(tables, "naive", 6), by_seed(tables, "naive", 2))
    halves = ", ".join(f"{half(count):.1f}" for count in ENDS)
    note = f"{beside('naive, random drops', 'naive, fixed sizes')}; 1/2 + 2^-N: {halves}"
    found.append(judge.judge(here, {**measured["naive"], "six over two": falls}, form=".1f", note=note))
    lost = tables["rows"]["drops"]
    note = f"in {lost.len()} runs"
    return [*found, judge.judge(claim("expresspass", "sec1-zero-data-loss"), int(lost.sum()), note=note)]


def by_seed(tables: Tables, transport: str, bottlenecks: int) -> list[float]:
    """Utilisation of the least used link, one a seed."""
    return stats.per_seed(tables["rows"], "utilisation_min", transport=transport, bottlenecks=bottlenecks)


def improved(tables: Tables, transport: str) -> dict[str, judge.Measured]:
    """Utilisation under a reading of ExpressPass, and over that under naive credits."""
    return {
        **{str(count): used(tables, transport, count) for count in ENDS},
        **{
            f"over naive, {count}": stats.paired_ratio(
                by_seed(tables, transport, count), by_seed(tables, "naive", count)
            )
            for count in ENDS
        },
    }


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    names = {
        "ours": "expresspass",
        "printed": "printed",
        "ns2": "ns2 profile",
        "fixed": "fixed sizes",
        "naive": "naive",
        "naive_fixed": "naive, fixed sizes",
        "naive_random": "naive, random drops",
    }
    rows = tables["rows"]
    found: dict[str, object] = {
        f"{fact}_{count}": used(tables, name, count).mean
        for fact, name in names.items()
        for count in rows.filter(pl.col("transport") == name)["bottlenecks"].unique()
    }
    shares = {f"shares_{count}": 100 * (0.5 + 1 / (count + 1)) for count in ENDS}
    return found | shares | {f"halves_{count}": half(count) for count in BOTTLENECKS}


def half(bottlenecks: int) -> float:
    """Use of the last link in per cent where each full credit queue drops half of what is left: 1/2 + 2^-N."""
    return 100 * (0.5 + 0.5**bottlenecks)


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Utilisation against the number of bottlenecks: the default and naive, and other readings."""
    picture, axes = grid(1, 2, height=3.2, sharey=True)
    for place, names in zip(axes, (("expresspass", "naive"), tuple(VARIANTS)), strict=True):
        for name in names:
            part = tables["summary"].filter(pl.col("transport") == name).sort("bottlenecks")
            base = name.partition(",")[0]
            dashes = "--" if name.endswith("drops") else ":"
            line = look.line(COLORS[base]) | ({"ls": dashes, "mfc": "none"} if base != name else {})
            label = name if place is axes[1] else None
            place.plot(part["bottlenecks"], part["utilisation_min"], ms=5, label=label, **line)
            ends = (part["least_seed"], part["most_seed"])
            place.fill_between(part["bottlenecks"], *ends, color=line["color"], alpha=0.15, lw=0)
        for which, label in (("fig10-parking-lot-feedback", "paper"), ("fig10-parking-lot-naive", None)):
            points = claim("expresspass", which).value
            x, y = [int(n) for n in points], [share / 100 for share in points.values()]
            place.plot(x, y, ls="", marker="*", ms=12, color=look.ink, label=label if place is axes[1] else None)
        place.set_xlabel("bottlenecks")
        place.set_ylim(0.4, 1.03)
        place.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[0].set(title="The defaults", ylabel="least used link")
    axes[1].set_title("All readings")
    legend(picture, axes[1], columns=4)
    return {"utilisation": picture}


FIGURE = Figure(
    name="expresspass/fig10",
    title="ExpressPass '17, Fig. 10 (b): utilisation over one to six bottlenecks",
    doc=(__doc__ or "") + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig10-parking-lot-feedback", "fig10-parking-lot-naive"),
    shown={
        "shown": "Utilisation of the least used link in per cent of what data can take, by number of "
        "bottlenecks; means over the seeds."
    },
    captions={"utilisation": "Utilisation of the least used link; bands span the seeds, stars are the paper's numbers"},
)
