"""Table 1 and Fig. 5 of the paper: the buffer that a port needs so that no data is lost, from its network calculus, eq.
(1). Nothing is simulated: `clearway plan buffers` computes the same for any network.

The networks have 8,192 hosts: a 32-ary fat tree with 16 core switches and so one uplink of each aggregation switch
(E17-13), and a 3-tier Clos. Links of core switches take 5 us and all others 1 us, a port holds 8 credits, and hosts
spread over 5.1 us (E17-15).

* **Eq. (1)** prints one symbol, d_q, where a least and a greatest delay are needed, and leaves open how data that waits
  on the way counts (E17-12). Reading `paper` takes the greatest within the maximum and counts the data's wait at each
  switch before as its spread; reading `min` takes the least at both places and no wait. The first counts for the
  verdicts, since the printed values of ToR downlinks double the spread hop by hop as it does; the other stands beside.
* **Reading `safe`** is ours: a worst case with what eq. (1) leaves out, for hosts that answer
  credits in order and 16 flows a port.
* **Core** links are those between aggregation and core switches; the rest of the fabric has the hosts' rate. "Core" are
  ports of core switches.
* **DCTCP's K** is 65 full frames for each 10 Gbps of the port's rate, which the printed ratios imply.
* **Fig. 5** shows bars without numbers. What the hosts' spread and the credit queues contribute is what the bound loses
  without them.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.plan import buffers
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Tables, no_jobs, no_measure
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import FRAME

#: The two sets of parameters of Fig. 5: most credits that wait, and the spread of hosts in seconds.
SETS = {"testbed": (8, 5.1e-6), "NIC hardware": (4, 1e-6)}
#: DCTCP's K in bytes for each bit per second.
K = 65 * FRAME / 10e9
#: The panels of Fig. 5.
ORDER: tuple[buffers.Reading, ...] = ("paper", "min", "safe")
#: Bars of Fig. 5, from below.
SOURCES = {"host": "host delay spread", "credit_queue": "credit queue", "rest": "the rest"}


def summarise(_: Tables) -> Tables:
    """The bounds of both."""
    return {"table1": table1(), "fig05": figure5()}


def table1() -> pl.DataFrame:
    """A row for each network, speed and port."""
    rows = []
    for network in buffers.NETWORKS:
        for link, core in buffers.SPEEDS[:2]:
            plan = buffers.paper_plan(network, (link, core))
            for name, kind in buffers.TABLE1_PORTS.items():
                rate = (core if name == "core" else link) * 1e9
                bounds = {f"{reading}_KB": round(plan.most(kind, reading) / 1e3, 1) for reading in buffers.READINGS}
                printed = claim("expresspass", "table1-buffer-requirement").number(
                    f"{case(network, link, core)}/{name}"
                )
                over = round(plan.most(kind, "paper") / (K * rate), 3)
                rows.append(
                    {"case": case(network, link, core), "port": name, "printed_KB": printed, **bounds, "paper/K": over}
                )
    return pl.DataFrame(rows)


def case(network: str, link: int, core: int) -> str:
    """A network and its speeds as the claims name them."""
    return f"{network} {link}/{core} Gbps"


def figure5() -> pl.DataFrame:
    """A row for each speed, set of parameters and reading."""
    rows = []
    for link, core in buffers.SPEEDS:
        for name, (queue, spread) in SETS.items():
            for reading, parts in buffers.sources((link, core), queue, spread).items():
                sizes = {f"{part}_KB": round(value / 1e3, 1) for part, value in parts.items()}
                rows.append({"speeds": f"{link}/{core} Gbps", "set": name, "reading": reading, **sizes})
    return pl.DataFrame(rows)


def bound(tables: Tables, where: str, port: str, reading: buffers.Reading) -> float:
    """A bound of Table 1, in KB."""
    chosen = (pl.col("case") == where) & (pl.col("port") == port)
    return float(tables["table1"].filter(chosen)[f"{reading}_KB"].item())


def bars(tables: Tables, name: str, reading: buffers.Reading, column: str = "total_KB") -> list[float]:
    """Bars of Fig. 5 by rising speed, in KB."""
    chosen = (pl.col("set") == name) & (pl.col("reading") == reading)
    return [float(value) for value in tables["fig05"].filter(chosen)[column]]


def ordered(tables: Tables, where: str, reading: buffers.Reading) -> bool:
    """ToR down above Core above ToR up."""
    down, core, up = (bound(tables, where, port, reading) for port in ("tor_down", "core", "tor_up"))
    return down > core > up


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["table1"].to_dicts()
    cells = {
        reading: {f"{row['case']}/{row['port']}": row[f"{reading}_KB"] for row in rows} for reading in buffers.READINGS
    }
    ratios = {f"{row['case']}/{row['port']}": row["paper/K"] for row in rows}
    cause = judge.Unstated(
        "The paper does not say which links of which rate the Core ports are, nor what its delays count; ToR ports fit."
    )
    return [
        judge.judge(
            claim("expresspass", "table1-buffer-requirement"),
            cells["paper"],
            form=".1f",
            reading="paper (E17-12)",
            note="ToR ports are within the tolerance, Core is not under any reading",
            readings={"min (E17-12)": cells["min"], "safe (E17-12)": cells["safe"]},
            cause=cause,
        ),
        judge.judge(
            claim("expresspass", "table1-buffer-normalised-by-dctcp-k"),
            ratios,
            form=".2f",
            reading="paper (E17-12)",
            note="as the bounds themselves",
            cause=cause,
        ),
        ports(tables),
        breakdown(tables),
    ]


def ports(tables: Tables) -> Finding:
    """The verdict on the order of the ports, and on the two networks."""
    cases = list(dict.fromkeys(tables["table1"]["case"]))

    def over(port: str, other: str, where: str) -> float:
        return bound(tables, where, port, "paper") / bound(tables, where, other, "paper")

    found: dict[str, judge.Measured] = {
        **{f"ToR down over Core, {where}": over("tor_down", "core", where) for where in cases},
        **{f"Core over ToR up, {where}": over("core", "tor_up", where) for where in cases},
        **{
            f"fat tree over Clos, {port}, {speeds}": bound(tables, f"32-ary fat tree {speeds} Gbps", port, "paper")
            / bound(tables, f"3-tier Clos {speeds} Gbps", port, "paper")
            for speeds in ("10/40", "40/100")
            for port in buffers.TABLE1_PORTS
        },
    }
    others = [reading for reading in ("min", "safe") if all(ordered(tables, where, reading) for where in cases)]
    note = (
        f"reading paper (E17-12); the order holds in {' and '.join(others) or 'no other reading'} too; "
        "not in min, at 10/40 Gbps"
    )
    return judge.arithmetic(claim("expresspass", "table1-port-ordering"), found, note=note)


def breakdown(tables: Tables) -> Finding:
    """The verdict on how the bound of a ToR's port depends on credits, hosts and rates."""
    testbed, hardware = (bars(tables, name, "paper") for name in SETS)
    links = [link for link, _ in buffers.SPEEDS]
    found: dict[str, judge.Measured] = {
        f"set b over set a, {link} Gbps": b / a for link, a, b in zip(links, testbed, hardware, strict=True)
    }
    for name, bound_by in (("set a", testbed), ("set b", hardware)):
        for link, needed in list(zip(links, bound_by, strict=True))[1:]:
            found[f"growth over that of the rate, {name}, {link} Gbps"] = needed / bound_by[0] / (link / links[0])
    text = ", ".join(f"{a:.0f} and {b:.0f} KB" for a, b in zip(testbed, hardware, strict=True))
    note = f"reading paper (E17-12): {text} at 10, 40 and 100 Gbps"
    return judge.arithmetic(claim("expresspass", "fig05-buffer-breakdown"), found, form=".2f", note=note)


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    slow, fast = "32-ary fat tree 10/40 Gbps", "32-ary fat tree 40/100 Gbps"
    testbed, hardware = (bars(tables, name, "paper") for name in SETS)
    printed = claim("expresspass", "table1-buffer-requirement")
    off = [
        bound(tables, where, "tor_down", "paper") / printed.number(f"{where}/tor_down") - 1 for where in (slow, fast)
    ]
    return {
        "tor_down_off": 100 * max(map(abs, off)),
        **{
            f"{port}_{reading}_{name}": bound(tables, where, port, reading)
            for port in buffers.TABLE1_PORTS
            for reading in buffers.READINGS
            for name, where in (("10", slow), ("40", fast))
        },
        "growth": testbed[2] / testbed[0],
        "growth_hardware": hardware[2] / hardware[0],
        "saved": 100 * (1 - hardware[0] / testbed[0]),
        "host_share": 100 * bars(tables, "testbed", "paper", "host_KB")[0] / testbed[0],
        "credit_share": 100 * bars(tables, "testbed", "paper", "credit_queue_KB")[0] / testbed[0],
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Fig. 5 in both readings of the paper's formula and in ours."""
    picture, axes = grid(1, len(buffers.READINGS), height=3.0)
    for place, reading in zip(axes, ORDER, strict=True):
        left = 0
        for index in range(len(buffers.SPEEDS)):
            for shift, name in ((-0.2, "testbed"), (0.2, "NIC hardware")):
                below = 0.0
                for color, (part, words) in enumerate(SOURCES.items()):
                    height = bars(tables, name, reading, f"{part}_KB")[index]
                    label = words if left == 0 else None
                    hatch = "" if name == "testbed" else "//"
                    place.bar(
                        index + shift,
                        height,
                        0.36,
                        bottom=below,
                        color=look.color(color),
                        label=label,
                        hatch=hatch,
                        lw=0,
                    )
                    below += height
                left += 1
        place.set_xticks(range(len(buffers.SPEEDS)), [f"{link}/{core}" for link, core in buffers.SPEEDS])
        place.set_title(f"reading {reading}", fontsize=11.5)
        place.set_xlabel("link / core link, Gbps")
    axes[0].set_ylabel("buffer of a ToR's port to a host, KB")
    legend(picture, axes[0])
    return {"sources": picture}


FIGURE = Figure(
    name="expresspass/table1",
    title="ExpressPass '17, Table 1 and Fig. 5: the buffer that loses no data",
    doc=__doc__,
    jobs=no_jobs,
    measure=no_measure,
    summarise=summarise,
    check=check,
    draw=draw,
    facts=facts,
    claims=(
        "table1-buffer-requirement",
        "table1-buffer-normalised-by-dctcp-k",
        "table1-port-ordering",
        "fig05-buffer-breakdown",
    ),
    shown={
        "table1": "Table 1: the printed bound and ours in three readings.",
        "fig05": "Fig. 5: what hosts, credit queues and the rest contribute to the bound of a ToR's port to a host.",
    },
    captions={"sources": "Fig. 5: 8 credits and 5.1 us (plain), 4 credits and 1 us (hatched)"},
)
