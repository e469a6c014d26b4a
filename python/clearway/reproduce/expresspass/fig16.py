"""The paper lets a second flow join a first one at a 10 and at a 100 Gbps bottleneck, with a base RTT of 100 us, and
shows the throughput of both in each RTT (DCTCP: averaged over 10 RTTs; K = 65 and g = 0.0625 at 10 Gbps, K = 650
and g = 0.01976 at 100 Gbps). "ExpressPass converges within 3 RTTs", DCTCP takes "more than 80 times longer" at 10
Gbps.

Unstated, and chosen here:

* **When a flow has converged.** HotNets'16 says within 10 % of the fair share. Here: the first RTT (for DCTCP the
  first 10) in which the mean throughput of *both* flows is within 10 % of half of what data can take of the link
  ("first"), and the first such that starts three in a row ("held"). RTTs are counted from the moment at which the
  second flow asks for its connection; its first data can arrive 1.5 RTTs later. A claim on convergence counts as
  reproduced if both hold, and as undecidable if the answer depends on which is meant.
* **alpha and w_init** (E17-2, E17-3): swept over {1, 1/2, 1/4, 1/8, 1/16, 1/32} x {1/2, 1/4, 1/16}. Claims are
  checked at the defaults, alpha = 1/2 and w_init = 1/16 (the authors' fat-tree script).
* **When the second flow joins.** After 50 RTTs (DCTCP: 200 at 10 Gbps, 1,000 at 100 Gbps), at 20 offsets (quick: 5)
  which spread over an RTT for ExpressPass and over more than a saw tooth of the window for DCTCP.
* **Network.** A dumbbell of two pairs, all links of the same rate, 12.5 + 25 + 12.5 us of propagation each way,
  buffers of 250 full frames for each 10 Gbps, initial windows of 10 segments.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce.claims import Claim, Finding, Verdict, claim, verdict
from clearway.reproduce.expresspass.common import ABOUT_READINGS, COLORS, READINGS, dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import FRAME, PAYLOAD, binned, convergence, data_drops
from clearway.result import Run

ALPHAS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
W_INITS = (0.5, 0.25, 0.0625)
RATES = (10, 100)
RTT_US = 100
OFFSETS = {"quick": 5, "full": 20}
#: RTTs of the series before the second flow joins.
LEAD = 10
#: The defaults, at which claims are checked.
ALPHA, W_INIT = 1 / 2, 1 / 16
KEY = ["rate_gbps", "transport", "alpha", "w_init"]
#: By rate: marking threshold, g, RTTs before the second flow joins and RTTs after, what offsets are multiples of.
DCTCP = {10: ("65 packets", 0.0625, 200, 2000, 120), 100: ("650 packets", 0.01976, 1000, 8000, 310)}


def jobs(scale: str) -> list[Job]:
    """ExpressPass over the sweep, its other readings, and DCTCP, each at all offsets."""
    count = OFFSETS[scale]
    found = []
    for rate in RATES:
        for offset in range(count):
            start = 50 * RTT_US + offset * RTT_US // count
            found += [
                credit_job(rate, "expresspass", offset, start, alpha, w_init) for w_init in W_INITS for alpha in ALPHAS
            ]
            found += [credit_job(rate, reading, offset, start, None, None) for reading in list(READINGS)[1:]]
            marking, g, before, after, step = DCTCP[rate]
            start = before * RTT_US + offset * step
            params = {
                "rate_gbps": rate,
                "transport": "dctcp",
                "alpha": None,
                "w_init": None,
                "offset": offset,
                "start_us": start,
                "averaged_rtts": 10,
                "ceiling": 1.0,
            }
            body = scenario(rate, {"name": "dctcp", "g": g}, start, after)
            found.append(Job(params, {**body, "switch": {"marking": marking}}))
    return found


def credit_job(rate: int, reading: str, offset: int, start_us: int, alpha: float | None, w_init: float | None) -> Job:
    """A run under a reading of ExpressPass."""
    transport, ceiling = READINGS[reading]
    if alpha is not None:
        transport = {**transport, "alpha": alpha, "w_init": w_init}
    params = {
        "rate_gbps": rate,
        "transport": reading,
        "alpha": alpha,
        "w_init": w_init,
        "offset": offset,
        "start_us": start_us,
        "averaged_rtts": 1,
        "ceiling": ceiling,
    }
    return Job(params, scenario(rate, transport, start_us, 100))


def scenario(rate: int, transport: dict[str, object], start_us: int, rtts: int) -> dict[str, object]:
    """Two flows, of which the second starts later."""
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{start_us} us"}
    return {
        "name": "fig16",
        "stop": f"{start_us + rtts * RTT_US} us",
        "topology": dumbbell(2, f"{rate} Gbps"),
        "transport": transport,
        "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
        "sample": [{"name": "throughput", "what": "throughput", "every": "5 us" if rtts <= 100 else "10 us"}],
    }


def measure(job: Job, run: Run) -> Tables:
    """When the flows converged; of the first offset also their throughput."""
    params = job.params
    averaged, start_s = params["averaged_rtts"], params["start_us"] * 1e-6
    width_s = averaged * RTT_US * 1e-6
    lead = LEAD if averaged == 1 else LEAD // 2
    _, rates = binned(run, "throughput", start_s - lead * width_s, width_s)
    share = params["ceiling"] * params["rate_gbps"] * 1e9 * PAYLOAD / FRAME / 2
    after = rates[:, lead:]
    found = convergence(after, share)
    row = {
        "first_rtts": found.first * averaged,
        "held_rtts": found.held * averaged,
        "utilisation": float(after[:, 5:].sum(axis=0).mean() / (2 * share)),
        "drops": data_drops(run),
        "queue_max_bytes": int(run.ports["queue_max_bytes"].max()),  # type: ignore[arg-type]
    }
    tables = {"rows": pl.DataFrame([row])}
    if params["offset"] == 0:
        # The throughput in the interval that ends so many RTTs after the second flow started.
        ends = (np.arange(rates.shape[1]) - lead + 1) * averaged
        series = {"rtt": ends, "share_gbps": np.full(len(ends), share / 1e9), "one_gbps": rates[0] / 1e9}
        tables["series"] = pl.DataFrame({**series, "two_gbps": rates[1] / 1e9})
    return tables


def summarise(tables: Tables) -> Tables:
    """Medians and spread over the offsets; what never happened counts as later than all else."""
    rows = []
    for key, part in tables["rows"].group_by(KEY, maintain_order=True):
        first, held = (part[name].fill_nan(np.inf).to_numpy() for name in ("first_rtts", "held_rtts"))
        row = dict(zip(KEY, key, strict=True))
        row["runs"] = part.height
        for name, values in (("first", first), ("held", held)):
            for percent in (0, 25, 50, 75, 100):
                row[f"{name}_p{percent}"] = float(np.percentile(values, percent, method="inverted_cdf"))
        row["utilisation"] = float(part["utilisation"].to_numpy().mean())
        row["drops"] = int(part["drops"].sum())
        rows.append(row)
    summary = pl.DataFrame(rows, infer_schema_length=None)
    shown = summary.select(
        *KEY,
        "runs",
        *(spread(name) for name in ("first", "held")),
        (100 * pl.col("utilisation")).round(1).alias("utilisation_%"),
        "drops",
    )
    return {**tables, "summary": summary, "shown": shown}


def spread(name: str) -> pl.Expr:
    """`median (least, quartiles, most)` as text."""
    parts = [pl.col(f"{name}_p{percent}") for percent in (50, 0, 25, 75, 100)]
    texts = [
        pl.when(part.is_infinite())
        .then(pl.lit("never"))
        .otherwise(part.fill_nan(0).cast(pl.Int64, strict=False).cast(pl.String))
        for part in parts
    ]
    return pl.format("{} ({}; {} to {}; {})", *texts).alias(f"RTTs_until_{name}")


def median(tables: Tables, rate: int, transport: str, which: str) -> float:
    """The median of RTTs until convergence of a transport, ExpressPass at its default alpha and w_init."""
    part = tables["summary"].filter((pl.col("rate_gbps") == rate) & (pl.col("transport") == transport))
    if transport == "expresspass":
        part = part.filter((pl.col("alpha") == ALPHA) & (pl.col("w_init") == W_INIT))
    return float(part[f"{which}_p50"].item())


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    of = {
        (rate, name, which): median(tables, rate, name, which)
        for rate in RATES
        for name in ("expresspass", "dctcp")
        for which in ("first", "held")
    }
    found = []
    for rate in RATES:
        here = claim("expresspass", f"fig16-convergence-{rate}g")
        first, held = of[rate, "expresspass", "first"], of[rate, "expresspass", "held"]
        remark = f"medians at alpha = 1/2, w_init = 1/16; {others(tables, rate)}"
        found.append(Finding(here, rtts(first, held), both(here, first, held), remark))
    ratios = [of[10, "dctcp", which] / of[10, "expresspass", which] for which in ("first", "held")]
    for name in ("fig16-convergence-10g-dctcp-ratio", "abstract-80x-faster-than-dctcp"):
        here = claim("expresspass", name)
        found.append(Finding(here, f"first {ratios[0]:.0f}, held {ratios[1]:.0f}", both(here, *ratios), "of medians"))
    growth = [of[100, "dctcp", which] / of[10, "dctcp", which] for which in ("first", "held")]
    here = claim("expresspass", "fig16-dctcp-linear-in-capacity")
    linear = all(10 * (1 - here.tolerance) <= value <= 10 * (1 + here.tolerance) for value in growth)
    text = f"tenfold rate: first {growth[0]:.1f}, held {growth[1]:.1f} times the RTTs"
    found.append(Finding(here, text, verdict(linear)))
    here = claim("expresspass", "sec1-convergence-order-of-magnitude")
    orders = [
        few(of[10, "expresspass", which])
        and few(of[100, "expresspass", which])
        and 100 <= of[10, "dctcp", which] < 1000 <= of[100, "dctcp", which]
        for which in ("first", "held")
    ]
    text = "; ".join(
        f"{name} {rate} Gbps {rtts(of[rate, name, 'first'], of[rate, name, 'held'])}"
        for name in ("expresspass", "dctcp")
        for rate in RATES
    )
    open_: Verdict = "reproduced" if all(orders) else "undecidable" if any(orders) else "not reproduced"
    found.append(Finding(here, text, open_))
    here = claim("expresspass", "sec1-zero-data-loss")
    lost = tables["rows"].filter(pl.col("transport") != "dctcp")["drops"]
    found.append(Finding(here, f"{lost.sum()} packets", verdict(lost.sum() == 0), f"in {lost.len():,} runs"))
    return found


def few(rtts: float) -> bool:
    """Whether this is "just a few RTTs"."""
    return rtts <= 10


def rtts(first: float, held: float) -> str:
    """Both measures as text."""
    first_text, held_text = (f"{value:.0f}" if np.isfinite(value) else "never" for value in (first, held))
    return f"first {first_text}, held {held_text} RTTs"


def both(here: Claim, first: float, held: float) -> Verdict:
    """Reproduced if it holds by both measures; open if the measure, which is unstated, decides."""
    holds = [here.holds(first), here.holds(held)]
    if all(holds):
        return "reproduced"
    between = here.kind == "ratio" and min(first, held) <= here.number() <= max(first, held)
    return "undecidable" if any(holds) or between else "not reproduced"


def others(tables: Tables, rate: int) -> str:
    """The other readings, in a remark."""
    return "; ".join(
        f"{name}: {rtts(median(tables, rate, name, 'first'), median(tables, rate, name, 'held')).removesuffix(' RTTs')}"
        for name in list(READINGS)[1:]
    )


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The panels, the other readings, and the sweep."""
    chosen = pl.col("alpha").is_null() | ((pl.col("alpha") == ALPHA) & (pl.col("w_init") == W_INIT))
    series = tables["series"].filter(chosen)
    return {
        "panels": panels(series, ["expresspass", "dctcp"], look),
        "readings": panels(series, list(READINGS)[1:], look),
        "sweep": heat_maps(tables["summary"]),
    }


def panels(series: pl.DataFrame, names: list[str], look: Look) -> Picture:
    """Throughput of both flows over time: a row for each transport, a column for each rate."""
    picture, axes = grid(len(names), len(RATES), height=2.3)
    cells = [(name, rate) for name in names for rate in RATES]
    for place, (name, rate) in zip(axes, cells, strict=True):
        part = series.filter((pl.col("transport") == name) & (pl.col("rate_gbps") == rate))
        end = 60 if name != "dctcp" else {10: 1000, 100: 6000}[rate]
        part = part.filter(pl.col("rtt") <= end)
        color = look.color(COLORS[name])
        place.axhline(part["share_gbps"][0], color=look.muted, lw=1, ls=(0, (2, 2)))
        place.step(part["rtt"], part["one_gbps"], where="pre", color=color, lw=1.6, label="first flow (solid)")
        place.step(
            part["rtt"],
            part["two_gbps"],
            where="pre",
            color=look.ink,
            lw=1.2,
            ls=(0, (4, 1)),
            label="second flow (dashed)",
        )
        place.set_title(f"{name}, {rate} Gbps")
        place.set_ylim(0, rate * 1.02)
        place.set_ylabel("Gbps")
    for place in axes[-len(RATES) :]:
        place.set_xlabel("RTTs since the second flow started")
    legend(picture, axes[0])
    return picture


def heat_maps(summary: pl.DataFrame) -> Picture:
    """Medians over the sweep."""
    picture, axes = grid(2, 2, height=2.7)
    part = summary.filter(pl.col("transport") == "expresspass")
    for place, (which, rate) in zip(
        axes, [(which, rate) for which in ("first", "held") for rate in RATES], strict=True
    ):
        values = np.array(
            [
                [
                    part.filter(
                        (pl.col("rate_gbps") == rate) & (pl.col("alpha") == alpha) & (pl.col("w_init") == w_init)
                    )[f"{which}_p50"].item()
                    for alpha in ALPHAS
                ]
                for w_init in W_INITS
            ]
        )
        place.pcolormesh(np.log10(np.where(np.isfinite(values), values, 100)), cmap="viridis_r", vmin=0.3, vmax=2, lw=0)
        for (y, x), value in np.ndenumerate(values):
            text = f"{value:.0f}" if np.isfinite(value) else "never"
            dark = not np.isfinite(value) or value > 14
            place.text(
                x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9, color="#ffffff" if dark else "#111111"
            )
        place.set_xticks(np.arange(len(ALPHAS)) + 0.5, [fraction(alpha) for alpha in ALPHAS])
        place.set_yticks(np.arange(len(W_INITS)) + 0.5, [fraction(w_init) for w_init in W_INITS])
        place.grid(visible=False)
        place.tick_params(length=0)
        place.set(xlabel="alpha", ylabel="w_init")
        place.set_title(f"{rate} Gbps, {'first within 10 %' if which == 'first' else 'held for 3 RTTs'}")
    return picture


def fraction(value: float) -> str:
    """`1/16`."""
    return "1" if value == 1 else f"1/{round(1 / value)}"


READING = """\
**Agrees.** Within 3 RTTs of its start the second flow has its fair share for the first time, at 10 and at 100 Gbps
(alpha = 1/2, any w_init; at alpha = 1 within 2 at 100 Gbps). DCTCP takes hundreds of RTTs at 10 Gbps and thousands
at 100 Gbps, and 5 to 6 times as many at ten times the rate. Measured until then, ExpressPass is 170 times faster.
No data is lost.

**Does not: it does not stay there.** Three RTTs in a row within 10 % take 38 RTTs at 10 Gbps and 17 at 100 Gbps
(medians at alpha = w_init = 1/2). Which of the two the paper means decides whether its 3 RTTs and its factor of 80
are reproduced; the factor lies between ours. In the whole sweep, only alpha = 1/2 with w_init of 1/4 or 1/16 holds
the share from RTT 3 on, at 10 Gbps. HotNets'16 prints the same sentence on another algorithm, which does not do it
either ("hotnets16").

**Why.** Three effects, which the other readings take apart:

1. *Feedback is a round trip old*, and Algorithm 1 as printed reduces a rate twice for the same losses ([Fig.
   15](expresspass-fig15.md)). With losses matched to the rate at which their credits were sent, holding takes 16
   and 10 RTTs instead of 38 and 17.
2. *Credits lock in phase.* Both receivers send more credits than their own limiters pass, so that both streams
   arrive with exactly one slot between credits, and at a full queue the same flow comes first each time. At 10 Gbps
   and alpha = 1 the first flow is starved. More jitter does not help, as the limiters undo it (we tried 0.08);
   random sizes do.
3. *w jumps* when two flows at w_min see losses just below the target (E17-4): the pictures' slow waves.

The authors' published code (ns2 profile) takes 13 to 18 RTTs at 10 Gbps and 8 to 9 at 100 Gbps, and is by far the
steadiest after.
"""

FIGURE = Figure(
    name="expresspass/fig16",
    title="ExpressPass '17, Fig. 16 (c) to (f): convergence at 10 and 100 Gbps",
    doc=__doc__
    + "\n"
    + ABOUT_READINGS
    + "* **hotnets16**: the algorithm of the HotNets'16 paper, which prints the same sentence.\n",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "RTTs until convergence: median (least; quartiles; most) over the offsets."},
    captions={
        "panels": "Throughput of both flows at the first offset; alpha = 1/2, w_init = 1/16, DCTCP averaged over 10 RTTs",
        "sweep": "Median RTTs until ExpressPass converges, over alpha and w_init",
        "readings": "The other readings of ExpressPass, with the default alpha and w_init",
    },
    reading=READING,
)
