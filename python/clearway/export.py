"""A run in the formats of other simulators: result files, lists of flows and networks."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from clearway import _clearway
from clearway._clearway import Error

if TYPE_CHECKING:
    import polars as pl

    from clearway.result import Run

#: The priority group that HPCC's own lists of flows use.
PRIORITY = 3
#: Destination ports by which HPCC's analysis tells flows of an incast from others.
DPORT, DPORT_INCAST = 100, 200
#: The first source port of each pair of hosts in HPCC's code.
FIRST_SPORT = 10_000
#: The largest size of a flow in a connection matrix of htsim, whose reader has 32 bits for it.
HTSIM_MOST = 2**31 - 1


@dataclass
class Exported:
    """A file for another simulator."""

    text: str
    #: The number of flows in it, and of flows that were left out because they have no size or did not end.
    flows: int = 0
    left_out: int = 0


class Ran:
    """A run with its network and the numbers of its hosts."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.settings: dict[str, Any] = tomllib.loads(run.scenario)
        self.scenario = _clearway.Scenario.parse(run.scenario, run.name, Path())
        self.network = _clearway.network(self.scenario)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each node: that of HPCC's file if the network comes from one, else counted, hosts first."""
        names = self.network["names"]
        if self.settings["topology"]["kind"] == "hpcc-file":
            return {name: int(name[1:]) for name in names}
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def incasts(self) -> set[str]:
        """The traffic entries in which many hosts answer one."""
        kinds = ("incast", "partition-aggregate")
        return {part["name"] for part in self.settings["traffic"] if part["kind"] in kinds}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows that have a size, in the order of their starts."""
        return self.run.flows.filter(self.run.flows["size_bytes"] > 0).sort("start_s", maintain_order=True)

    @cached_property
    def shared(self) -> set[tuple[str, int]]:
        """The connections that carry several messages of a list, as traffic entry and number."""
        listed = {part["name"] for part in self.settings["traffic"] if part["kind"] in ("flows", "file")}
        rows = self.flows.select("traffic", "flow").iter_rows()
        counts = Counter((traffic, flow) for traffic, flow in rows if traffic in listed)
        return {connection for connection, count in counts.items() if count > 1}

    def rows(self) -> Iterator[tuple[dict[str, Any], int, int]]:
        """The flows with the numbers of their hosts."""
        for row in self.flows.iter_rows(named=True):
            yield row, self.numbers[row["src"]], self.numbers[row["dst"]]

    def dport(self, row: dict[str, Any]) -> int:
        """The destination port that stands for a flow's kind of traffic."""
        return DPORT_INCAST if row["traffic"] in self.incasts else DPORT

    def listed(self, lines: list[str]) -> Exported:
        """A list of flows, of which those without a size are missing."""
        return Exported("\n".join(lines) + "\n", len(self.flows), len(self.run.flows) - len(self.flows))


def seconds(start_s: float) -> str:
    """A time in seconds to the picosecond."""
    return f"{start_s:.12f}".rstrip("0").rstrip(".")


def address(number: int) -> str:
    """The address that HPCC's code gives to a node, in hexadecimal digits."""
    return f"{0x0B000001 + number // 256 * 0x10000 + number % 256 * 0x100:08x}"


def standalone_ns(paths: dict[str, Any], size: int) -> int:
    """The completion time of a flow that has the network for itself, as HPCC's code computes it."""
    payload, overhead = paths["frame"]
    rates: list[int] = paths["rates_bps"]
    rtt: int = 2 * (paths["delay_ps"] // 1000) + sum(payload * 8 * 10**9 // rate for rate in rates)
    frames: int = (size + -(-size // payload) * overhead) * 8 * 10**9 // min(rates)
    return rtt + frames


def hpcc_fct(ran: Ran) -> Exported:
    """`fct.txt` of HPCC's ns-3: a line `sip dip sport dport size start fct standalone-fct` a flow, times in ns."""
    sports: dict[tuple[int, int], int] = defaultdict(lambda: FIRST_SPORT)
    paths: dict[tuple[str, str], dict[str, Any]] = {}
    done = []
    for row, src, dst in ran.rows():
        sport, sports[src, dst] = sports[src, dst], sports[src, dst] + 1
        if row["acked_s"] != row["acked_s"]:
            continue
        pair = row["src"], row["dst"]
        if pair not in paths:
            paths[pair] = _clearway.paths(ran.scenario, *(_clearway.node(ran.scenario, name) for name in pair))
        size, start, fct = row["size_bytes"], round(row["start_s"] * 1e9), round(row["acked_s"] * 1e9)
        standalone = standalone_ns(paths[pair], size)
        text = f"{address(src)} {address(dst)} {sport} {ran.dport(row)} {size} {start} {fct} {standalone}\n"
        done.append((start + fct, text))
    done.sort(key=lambda line: line[0])
    return Exported("".join(text for _, text in done), len(done), len(ran.run.flows) - len(done))


def hpcc_flows(ran: Ran) -> Exported:
    """The flow file of HPCC's ns-3: a count, then `src dst priority dport bytes start-in-seconds` a line."""
    lines = [
        f"{src} {dst} {PRIORITY} {ran.dport(row)} {row['size_bytes']} {seconds(row['start_s'])}"
        for row, src, dst in ran.rows()
    ]
    return ran.listed([str(len(lines)), *lines])


def htsim_flows(ran: Ran, start_unit: str) -> Exported:
    """A connection matrix (`.cm`) of htsim, with starts in `ps` or in whole `us`.

    Messages of a connection share its id.
    """
    per_second = {"ps": 10**12, "us": 10**6}[start_unit]
    lines = [f"Nodes {ran.network['hosts']}", f"Connections {len(ran.flows)}"]
    ids: dict[tuple[str, int], int] = {}
    for number, (row, src, dst) in enumerate(ran.rows(), 1):
        if row["size_bytes"] > HTSIM_MOST:
            raise Error(
                f"a flow of {row['size_bytes']} B is too large for htsim, which reads sizes up to {HTSIM_MOST} B"
            )
        start = round(row["start_s"] * per_second)
        name = row["traffic"], row["flow"]
        shares = name in ran.shared
        flow_id, message = (ids.setdefault(name, number), " msg") if shares else (number, "")
        lines.append(f"{src}->{dst} id {flow_id} start {start} size {row['size_bytes']}{message}")
    return ran.listed(lines)


def ns2_flows(ran: Ran) -> Exported:
    """The flow list of the ExpressPass authors' ns-2 script: `start-in-seconds src dst bytes` a line."""
    return ran.listed([f"{seconds(row['start_s'])} {src} {dst} {row['size_bytes']}" for row, src, dst in ran.rows()])


def csv_flows(ran: Ran) -> Exported:
    """A list of flows as CSV, which scenarios read: `start_ps,src,dst,size_bytes`, hosts by name.

    Where messages share a connection, a column `connection` names it.
    """
    lines = []
    for row, _, _ in ran.rows():
        line = f"{round(row['start_s'] * 1e12)},{row['src']},{row['dst']},{row['size_bytes']}"
        name = row["traffic"], row["flow"]
        connection = f"{name[0]}/{name[1]}" if name in ran.shared else ""
        lines.append(f"{line},{connection}" if ran.shared else line)
    return ran.listed([f"start_ps,src,dst,size_bytes{',connection' if ran.shared else ''}", *lines])


def links(ran: Ran) -> Iterator[tuple[str, str, int, int, float]]:
    """The links of the network: both ends, rate in bit/s, delay in ps, loss."""
    network = ran.network
    names = network["names"]
    for a, b, rate, delay, loss in zip(
        *(network[key] for key in ("a", "b", "rate_bps", "delay_ps", "loss")), strict=True
    ):
        yield names[a], names[b], rate, delay, loss


def rate_text(bps: int, space: str = "") -> str:
    """A rate in the largest unit in which it is whole."""
    for unit, scale in (("Gbps", 10**9), ("Mbps", 10**6)):
        if bps % scale == 0:
            return f"{bps // scale}{space}{unit}"
    return f"{bps}{space}bps"


def delay_text(ps: int, space: str = "") -> str:
    """A delay in ns if it is whole, else in ps."""
    return f"{ps // 1000}{space}ns" if ps % 1000 == 0 else f"{ps}{space}ps"


def hpcc_topology(ran: Ran) -> Exported:
    """The network in the topology format of HPCC's ns-3, hosts numbered as in its lists of flows."""
    names, hosts = ran.network["names"], ran.network["hosts"]
    switches = " ".join(str(ran.numbers[name]) for name in names[hosts:])
    lines = [f"{len(names)} {len(names) - hosts} {len(ran.network['a'])}", switches]
    lines += [
        f"{ran.numbers[a]} {ran.numbers[b]} {rate_text(rate)} {delay_text(delay)} {loss:g}"
        for a, b, rate, delay, loss in links(ran)
    ]
    return Exported("\n".join(lines) + "\n")


def graphml(ran: Ran) -> Exported:
    """The network in GraphML, which networkx and graph editors read, and scenarios too (`kind = "graphml-file"`)."""
    keys = {
        "kind": ("node", "string"),
        "tier": ("node", "int"),
        "rate": ("edge", "string"),
        "delay": ("edge", "string"),
    }
    keys["loss"] = ("edge", "double")
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [
        f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>' for name, (of, kind) in keys.items()
    ]
    lines.append('  <graph edgedefault="undirected">')
    for number, (name, tier) in enumerate(zip(ran.network["names"], ran.network["tiers"], strict=True)):
        is_host = number < ran.network["hosts"]
        data = (
            '<data key="kind">host</data>'
            if is_host
            else f'<data key="kind">switch</data><data key="tier">{tier}</data>'
        )
        lines.append(f"    <node id={quoteattr(name)}>{data}</node>")
    for a, b, rate, delay, loss in links(ran):
        data = f'<data key="rate">{rate_text(rate, " ")}</data><data key="delay">{delay_text(delay, " ")}</data>'
        data += f'<data key="loss">{loss!r}</data>' if loss else ""
        lines.append(f"    <edge source={quoteattr(a)} target={quoteattr(b)}>{data}</edge>")
    return Exported("\n".join([*lines, "  </graph>", "</graphml>"]) + "\n")


#: The formats, by the word that chooses one; `htsim-flows` needs the unit of starts too.
FORMATS: dict[str, Callable[[Ran], Exported]] = {
    "hpcc-fct": hpcc_fct,
    "hpcc-flows": hpcc_flows,
    "hpcc-topology": hpcc_topology,
    "htsim-flows": lambda ran: htsim_flows(ran, "ps"),
    "ns2-flows": ns2_flows,
    "csv-flows": csv_flows,
    "graphml": graphml,
}


def export(run: Run, form: str, *, start_unit: str | None = None) -> Exported:
    """A run in the format of another simulator, one of `FORMATS`.

    `start_unit` is for `htsim-flows`, whose programs differ: `"ps"` (the default) or `"us"`.
    """
    if form not in FORMATS:
        raise Error(f"format {form!r}: write one of {', '.join(FORMATS)}")
    if start_unit is not None:
        if form != "htsim-flows" or start_unit not in ("ps", "us"):
            raise Error(f"start_unit {start_unit!r}: is for htsim-flows alone; write 'ps' or 'us' there")
        return htsim_flows(Ran(run), start_unit)
    return FORMATS[form](Ran(run))
