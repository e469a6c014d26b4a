"""One and two flows over one switch, as in HPCC's ns-3 code: 100 Gbps, links of 1 us, that code's frames, constants
(profile `hpcc-ns3`) and serialisation, which drops fractions of nanoseconds; and the same with exact serialisation.

Chosen here:

* **Completion time** as that code has it: until the last acknowledgement is back at the sender (`acked_s`).
* **Base round-trip time** of HPCC: 4.16 us, as its script computes it for this network.
* **Seeds**: DCQCN's marks are drawn at random, there as here. Theirs is the mean of 30 runs, which differ in the run
  number of ns-3's generator: 2,023 us +- 45 us for the first flow and 2,162 us +- 22 us for the last (95 %). Ours is
  the mean of 51 (quick: 25) seeds with its interval. The other laws draw nothing, and have one run.
* HPCC's increase is 40 Mbps for one flow and 50 Mbps for two, as in the runs to compare with.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.result import Run

TRANSPORTS = ("hpcc", "dcqcn", "timely", "rdma-dctcp")
SEEDS = {"quick": 25, "paper": 51}
ALONE = {"1000 B": "1000 B", "10 MB": "10 MB"}


def transport(name: str, flows: int) -> dict[str, str]:
    """A transport with the authors' constants."""
    own = {"hpcc": {"base_rtt": "4.16 us", "ai": "50 Mbps" if flows == 2 else "40 Mbps"}}
    return {"name": name, "profile": "hpcc-ns3", **own.get(name, {})}


def job(name: str, flows: int, size: str, seed: int, serialisation: str) -> Job:
    """The job of one run."""
    return Job(
        {"transport": name, "flows": flows, "size": size, "seed": seed, "serialisation": serialisation},
        {
            "name": "parity",
            "seed": seed,
            "topology": {"kind": "star", "hosts": flows + 1, "rate": "100 Gbps", "delay": "1 us"},
            "network": {
                "payload": "1000 B",
                "overhead": "48 B",
                "wire_min": "60 B",
                "whole_ns": serialisation == "whole ns",
            },
            "transport": transport(name, flows),
            "traffic": [
                {"name": f"flow{src}", "kind": "long", "pairs": [[f"h{src}", f"h{flows}"]], "size": size}
                for src in range(flows)
            ],
        },
    )


def jobs(scale: str) -> list[Job]:
    """One flow of two sizes, and two flows."""
    kinds = ("whole ns", "exact")
    alone = [job(name, 1, size, 1, kind) for name in TRANSPORTS for size in ALONE.values() for kind in kinds]
    both = [
        job(name, 2, "10 MB", seed, kind)
        for name in TRANSPORTS
        for seed in range(1, SEEDS[scale] + 1 if name == "dcqcn" else 2)
        for kind in kinds
    ]
    return alone + both


def measure(_: Job, run: Run) -> Tables:
    """Completion times as the ns-3 code counts them."""
    times = sorted(float(time) * 1e9 for time in run.flows["acked_s"])
    return {"rows": pl.DataFrame({"first_ns": [times[0]], "last_ns": [times[-1]]})}


def summarise(tables: Tables) -> Tables:
    """Means over seeds, beside the ns-3 code's times."""
    rows = []
    for case, times in _cases().items():
        name, what = case.split(", ")
        flows = 2 if what in ("first", "last") else 1
        ours = {kind: stats.estimate(of(tables, case, kind)).mean for kind in ("whole ns", "exact")}
        rows.append(
            {
                "transport": name,
                "case": f"two flows of 10 MB, {what} to end" if flows == 2 else f"one flow of {what}",
                "ns-3 (ns)": round(times),
                "ours (ns)": round(ours["whole ns"]),
                "difference (%)": round(100 * (ours["whole ns"] / times - 1), 3),
                "exact (ns)": round(ours["exact"], 1),
                "exact serialisation changes ours by (%)": round(100 * (ours["exact"] / ours["whole ns"] - 1), 2),
            }
        )
    return {**tables, "shown": pl.DataFrame(rows)}


def of(tables: Tables, case: str, serialisation: str) -> list[float]:
    """The times of a case, one value a seed."""
    name, what = case.split(", ")
    alone = what not in ("first", "last")
    part = tables["rows"].filter(
        (pl.col("transport") == name)
        & (pl.col("flows") == (1 if alone else 2))
        & (pl.col("serialisation") == serialisation)
        & ((pl.col("size") == what) | (not alone))
    )
    return [float(value) for value in part["first_ns" if what == "first" else "last_ns"]]


def _cases() -> dict[str, float]:
    """The cases for which there is a reference."""
    return {**claim("rdma", "ns3-single-flow").value, **claim("rdma", "ns3-two-flows").value}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on each case, by its tolerance."""
    found = []
    shown = tables["shown"]
    for name, is_pair in (("ns3-single-flow", False), ("ns3-two-flows", True)):
        here = claim("rdma", name)
        part = shown.filter(pl.col("case").str.starts_with("two") == is_pair)
        values = {case: stats.estimate(of(tables, case, "whole ns")) for case in here.cases}
        worst = float(part["difference (%)"].abs().to_numpy().max())
        exact = part["exact serialisation changes ours by (%)"].to_numpy()
        note = (
            f"at most {worst:.2f} % away; exact serialisation changes ours by {float(exact.min()):+.2f} to "
            f"{float(exact.max()):+.2f} %"
        )
        found.append(judge.judge(here, values, form=",.0f", note=note, reading="`hpcc-ns3`"))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names: differences in percent, by case."""
    return {
        f"{row['transport']}_{row['case'].removeprefix('one flow of ').removeprefix('two flows of 10 MB, ')}".replace(
            " ", "_"
        ).replace("-", "_"): float(row["difference (%)"])
        for row in tables["shown"].iter_rows(named=True)
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Differences, case by case."""
    picture, (place,) = grid(1, 1, width=7.2, height=4.6)
    shown = tables["shown"].reverse()
    labels = [f"{row['transport']}: {row['case']}" for row in shown.iter_rows(named=True)]
    at = np.arange(len(labels))
    place.axvspan(-1, 1, color=look.muted, alpha=0.25, lw=0, label="within 1 %")
    place.axvspan(-5, 5, color=look.muted, alpha=0.12, lw=0, label="within 5 %")
    ours = shown["difference (%)"].to_numpy()
    exact = 100 * (shown["exact (ns)"].to_numpy() / shown["ns-3 (ns)"].to_numpy() - 1)
    place.plot(exact, at, ls="", marker="s", ms=5, mfc="none", color=look.color(1), label="exact serialisation")
    place.plot(ours, at, ls="", marker="o", ms=5, color=look.color(0), label="whole nanoseconds, as there")
    place.set_yticks(at, labels)
    place.set(xlabel="completion time against HPCC's ns-3 code (%)")
    place.margins(y=0.04)
    legend(picture, place, columns=2)
    return {"difference": picture}


FIGURE = Figure(
    name="rdma/parity",
    title="RDMA transports beside HPCC's ns-3 code",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("ns3-single-flow", "ns3-two-flows"),
    shown={"shown": "Completion times; DCQCN's with two flows are means over seeds."},
    captions={"difference": "Completion times against those of HPCC's ns-3 code"},
)
