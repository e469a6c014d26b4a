"""A parking lot of N = 1 to 6 bottlenecks: one long flow over all, and a cross flow on each. The paper reports the
utilisation of the link that is used least, normalised to the data rate that is possible beside credits, with
feedback control and without (naive).

Unstated, and chosen here:

* **Rate, delay, duration**: 10 Gbps, 4 us a link (as in the other networks of the paper); 100 ms (quick: 40 ms)
  after 10 ms of start-up, 4 seeds (quick: 2).
* **Sizes of credits**: the credits of the long flow compete at several switches, the case for which section 3.1
  randomises sizes, so claims are checked with 84 to 92 B, and "the maximum data rate" is then 90.5 % of the link
  (E17-8). Fixed sizes are shown beside.
* **alpha and w_init**: the defaults; flows are long, so that they only matter for the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.expresspass.common import ABOUT_READINGS, COLORS, READINGS
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import CEILING, data_drops
from clearway.result import Run

BOTTLENECKS = (1, 2, 3, 4, 5, 6)
#: The authors' code with the sizes of its fat-tree script, for the panel of those.
NS2_FAT_TREE = ({**READINGS["ns2 profile"][0], "randomize_size": True, "size_min": 76}, CEILING)
#: Reading -> feedback and sizes, transport, share of a link that data can take.
VARIANTS: dict[str, tuple[str, str, Mapping[str, Any], float]] = {
    "expresspass": ("feedback", "random", *READINGS["expresspass"]),
    "printed": ("feedback", "random", *READINGS["printed"]),
    "expresspass, even sizes": ("feedback", "fixed", *READINGS["even sizes"]),
    "ns2 profile": ("feedback", "random", *NS2_FAT_TREE),
    "naive": ("naive", "random", {"name": "naive-credit"}, CEILING),
    "naive, even sizes": ("naive", "fixed", {"name": "naive-credit", "randomize_size": False}, CEILING),
}
SEEDS = {"quick": 2, "full": 4}
DURATION_MS = {"quick": 40, "full": 100}
WARM_UP_MS = 10


def jobs(scale: str) -> list[Job]:
    """Every reading, number of bottlenecks and seed."""
    return [
        Job(
            {"transport": name, "bottlenecks": count, "seed": seed, "ceiling": ceiling},
            {
                "name": "fig10",
                "seed": seed,
                "stop": f"{WARM_UP_MS + DURATION_MS[scale]} ms",
                "topology": {"kind": "parking-lot", "bottlenecks": count, "rate": "10 Gbps", "delay": "4 us"},
                "transport": dict(transport),
                "traffic": [{"kind": "long"}],
                "sample": [
                    {
                        "name": "rate",
                        "what": "rate",
                        "every": f"{WARM_UP_MS} ms",
                        "ports": [f"s{i}->s{i + 1}" for i in range(count)],
                    },
                    {"name": "throughput", "what": "throughput", "every": f"{WARM_UP_MS} ms"},
                ],
            },
        )
        for name, (_, _, transport, ceiling) in VARIANTS.items()
        for count in BOTTLENECKS
        for seed in range(1, SEEDS[scale] + 1)
    ]


def measure(job: Job, run: Run) -> Tables:
    """Utilisation of the least used link, and the share of the long flow."""
    after = run.samples.filter(pl.col("time_s") > WARM_UP_MS * 1.01e-3)
    means = after.group_by("series", "entity").agg(pl.col("value").mean())
    links = means.filter(pl.col("series") == "rate")["value"].to_numpy()
    flows = means.filter(pl.col("series") == "throughput").sort("entity")
    capacity = 10e9 * job.params["ceiling"]
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


def value(tables: Tables, transport: str, bottlenecks: int) -> float:
    """Utilisation in per cent."""
    chosen = (pl.col("transport") == transport) & (pl.col("bottlenecks") == bottlenecks)
    return 100 * float(tables["summary"].filter(chosen)["utilisation_min"].item())


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    found = []
    for name, reading, others in (
        (
            "fig10-parking-lot-feedback",
            "expresspass",
            ("printed", "expresspass, even sizes", "ns2 profile"),
        ),
        ("fig10-parking-lot-naive", "naive", ("naive, even sizes",)),
    ):
        here = claim("expresspass", name)
        two, six = value(tables, reading, 2), value(tables, reading, 6)
        beside = "; ".join(f"{other}: {value(tables, other, 2):.1f}, {value(tables, other, 6):.1f}" for other in others)
        holds = here.holds(two, "2") and here.holds(six, "6")
        found.append(Finding(here, f"2: {two:.1f} %, 6: {six:.1f} %", verdict(holds), f"{reading}; {beside}"))
    lost = tables["rows"]["drops"].sum()
    here = claim("expresspass", "sec1-zero-data-loss")
    found.append(Finding(here, f"{lost} packets", verdict(lost == 0), f"in {tables['rows'].height} runs"))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Utilisation against the number of bottlenecks: random and fixed sizes."""
    picture, axes = grid(1, 2, height=3.2, sharey=True)
    names = {"random": "credits of 76 to 92 B", "fixed": "credits of 84 B"}
    for place, sizes in zip(axes, names, strict=True):
        for name, (_, of, _, _) in VARIANTS.items():
            if of != sizes:
                continue
            part = tables["summary"].filter(pl.col("transport") == name).sort("bottlenecks")
            base = name.partition(",")[0]
            line = look.line(COLORS[base])
            place.plot(
                part["bottlenecks"], part["utilisation_min"], ms=5, label=base if sizes == "random" else None, **line
            )
            place.fill_between(
                part["bottlenecks"], part["least_seed"], part["most_seed"], color=line["color"], alpha=0.15, lw=0
            )
        for which, label in (("fig10-parking-lot-feedback", "paper"), ("fig10-parking-lot-naive", None)):
            points = claim("expresspass", which).value
            x, y = [int(n) for n in points], [share / 100 for share in points.values()]
            place.plot(x, y, ls="", marker="*", ms=12, color=look.ink, label=label if sizes == "random" else None)
        place.set_title(names[sizes])
        place.set_xlabel("bottlenecks")
        place.set_ylim(0.4, 1.03)
        place.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[0].set_ylabel("least used link")
    legend(picture, axes[0], columns=5)
    return {"utilisation": picture}


READING = """\
**Agrees.** Feedback control removes the loss of utilisation that the naive scheme suffers over several bottlenecks,
and nothing is lost.

**Does not: naive.** With random sizes we measure 75, 65, 58, 55, 53 % for 2 to 6 bottlenecks; the paper prints 83.3
% and 60 %. Ours follow 1/2 + 2^-N (75, 62.5, 56.3, 53.1, 51.6 %), the paper's value at 2 is 1/2 + 1/(N+1). The
difference is which credits a full queue drops. In proportion to arrivals, the long flow would keep 1/3 after the
second limiter. But a full drop-tail queue has one place a slot, and the first credit to come takes it. A cross flow
offers exactly one credit a slot, the long flow one in every second, of which half come first: 1/4 is left, and so
on by halves.

**Does not: naive, fixed sizes.** Every link is fully used, since either the long flow or the cross flow of a link
is starved: the receivers' own limiters space credits by exactly one slot, so the same flow comes first each time.
The jitter of 1 % is lost in those limiters. This is the synchronisation for which section 3.1 randomises sizes.

**Does not: feedback at two bottlenecks.** Algorithm 1 as printed reaches 91 % of what data can take. If losses are
matched with the rate at which the lost credits were sent, it is 97 to 99 % for all numbers of bottlenecks, which
agrees with the paper. [Fig. 15](expresspass-fig15.md) says why.
"""

FIGURE = Figure(
    name="expresspass/fig10",
    title="ExpressPass '17, Fig. 10 (b): utilisation over one to six bottlenecks",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "Utilisation of the least used link in per cent of what data can take, by number of bottlenecks."},
    captions={"utilisation": "Utilisation of the least used link; bands span the seeds, stars are the paper's numbers"},
    reading=READING,
)
