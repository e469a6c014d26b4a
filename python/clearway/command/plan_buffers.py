"""`clearway plan buffers`."""

from __future__ import annotations

from typing import Any

import click

from clearway import _clearway, units
from clearway.command.names import Choice, NetworkWord
from clearway.command.quantity import TIMES, Quantity
from clearway.command.shared import console, print_json
from clearway.command.tables import print_texts
from clearway.plan import buffers as model
from clearway.plan.limits import starting, without_bound
from clearway.plan.networks import named

EXAMPLES = """\b
Examples:
  clearway plan buffers fat-tree k=8 rate=10Gbps
  clearway plan buffers websearch --port "tor0->h0"
  clearway plan buffers leaf-spine rate="25 Gbps" uplink_rate="100 Gbps" --credit-queue 4 --host-delay "0 us" "1 us"
  clearway plan buffers star hosts=64 --flows 63 --json
  clearway plan buffers star hosts=8 rate="1 Gbps" --control udp --leftover 12304 --pairs 7
"""
#: Ports of a class or of all that are listed at most.
MOST = 40


class TimeOrZero(Quantity):
    """A time that may be 0."""

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads it; `0`, with or without a unit, is 0."""
        if isinstance(value, str) and value.strip().rstrip("munps ").strip() in ("0", "0.0"):
            return 0.0
        return super().convert(value, param, ctx)


class Sizes(click.ParamType[tuple[int, int]]):
    """A size of credits, or a range of sizes."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Reads `84` and `76-92`."""
        if isinstance(value, tuple):
            return value
        least, _, most = str(value).removesuffix("B").strip().partition("-")
        try:
            return int(least), int(most or least)
        except ValueError:
            self.fail(f"{value!r}: write a size or a range in bytes, such as 84 or 76-92", param, ctx)


TIME = TimeOrZero("time", TIMES, "5.1 us")

#: An option of both commands that compute the bound.
leftover_option = click.option(
    "--leftover",
    type=click.IntRange(0, 65_536),
    default=0,
    show_default=True,
    help="Bytes that credits from one host to another may leave over for small packets: 12304 for hosts of clearwayd.",
)


@click.command("buffers", epilog=EXAMPLES)
@click.argument("topology", nargs=-1, required=True, metavar="TOPOLOGY [KEY=VALUE]...", type=NetworkWord())
@click.option("--reading", type=Choice(model.READINGS), help="Show this reading's breakdown.  [default: safe]")
@click.option("--port", "ports", multiple=True, help='Show these ports: "tor0->h0", or "all"; repeatable.')
@click.option("--credit-queue", type=click.IntRange(1, 1_000_000), help="Credits per port.  [default: the scenario's]")
@click.option("--credit-sizes", type=Sizes(), help="Bytes of a credit on the wire.  [default: the scenario's]")
@click.option(
    "--host-delay",
    type=(TIME, TIME),
    metavar="MIN MAX",
    help="Delay of hosts from a credit's arrival to its data.  [default: a scenario file's; for others 0 and 5.1 us]",
)
@click.option(
    "--switch-delay", type=TIME, default="0 s", help="Delay of a switch for a credit and its data.  [default: 0 s]"
)
@click.option(
    "--flows",
    type=click.IntRange(0, 10_000_000),
    help="Flows that start or end through one port within a busy period.  [default: those of a scenario's largest "
    "incast, at least 16]",
)
@click.option(
    "--control",
    type=Choice(["ethernet", "udp"]),
    default="ethernet",
    show_default=True,
    help="How credits and signals travel, as `clearwayd host --control` says: in datagrams they have 132 B.",
)
@leftover_option
@click.option(
    "--pairs",
    type=click.IntRange(0, 10_000_000),
    help="Pairs of hosts with small packets through one port within a busy period.  [default: --flows]",
)
@click.option(
    "--busy", type=TIME, default="1 ms", show_default=True, help="Longest busy period, for random credit sizes."
)
@click.option(
    "--host-queue",
    type=Choice(["turns", "fifo"]),
    default="turns",
    show_default=True,
    help="Order in which a host's NIC serves its flows: by turns, as the simulator's; or all frames in order.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all ports and readings as JSON.")
def buffers(
    topology: tuple[str, ...],
    reading: model.Reading | None,
    ports: tuple[str, ...],
    credit_queue: int | None,
    credit_sizes: tuple[int, int] | None,
    host_delay: tuple[float, float] | None,
    switch_delay: float,
    flows: int | None,
    control: str,
    leftover: int,
    pairs: int | None,
    busy: float,
    host_queue: str,
    as_json: bool,
) -> None:
    """Bound the data that can wait at each switch port under ExpressPass: its network calculus, eq. (1).

    TOPOLOGY is a scenario file, a topology file, or a shape of `clearway list topologies` with its keys. Three
    readings: safe, which no run exceeds; paper and min, the two plain readings of the printed formula.

    The bounds are for expresspass, expresspass-hotnets16 and naive-credit in one class of data, on symmetric paths
    without loss, flow control or shared memory. A scenario with anything else is refused.
    """
    scenario, is_scenario = named(topology)
    why = without_bound(scenario)
    if why:
        raise _clearway.ScenarioError(f"{topology[0]}: {why}")
    if host_delay is None and not is_scenario:
        host_delay = (0.0, 5.1e-6)
    if flows is None:
        flows = max(16, starting(scenario)) if is_scenario else 16
    plan = model.plan(
        scenario,
        credit_queue=credit_queue,
        credit_sizes=credit_sizes,
        host_delay_s=host_delay,
        switch_delay_s=switch_delay,
        flows=flows,
        busy_s=busy,
        turns=host_queue == "turns",
        udp=control == "udp",
        leftover=leftover,
        pairs=flows if pairs is None else pairs,
    )
    chosen = choose(plan, ports)
    if as_json:
        print_json(as_dict(plan, chosen))
        return
    shown: model.Reading = reading or "safe"
    out = console()
    out.print(headline(plan), style="bold", markup=False)
    out.print(inputs_line(plan), markup=False)
    out.print()
    if chosen is None:
        print_texts(out, class_texts(plan, shown), left=1)
        rows = [(found.kind, found.worst) for found in plan.classes(shown)]
    else:
        rows = [(port.port, port) for port in chosen[:MOST]]
    print_texts(out, part_texts(rows, shown), left=1)
    if chosen is not None and len(chosen) > MOST:
        out.print(f"and {len(chosen) - MOST:,} more; --json has all", markup=False)
    if chosen is None:
        out.print(f"Breakdown by reading {shown}, for the port of each class with the largest bound.", markup=False)


def choose(plan: model.Plan, names: tuple[str, ...]) -> list[model.PortBound] | None:
    """The ports of these names; `None` where none is named."""
    if not names:
        return None
    if "all" in names:
        return plan.ports
    known = {port.port: port for port in plan.ports}
    for name in names:
        if name not in known:
            some = ", ".join(list(known)[:3])
            raise click.UsageError(
                f"--port {name!r}: is no port of a switch that carries data{_clearway.suggestion(name, list(known))}; "
                f"ports are named {some}, ..."
            )
    return [known[name] for name in names]


def headline(plan: model.Plan) -> str:
    """The answer in a sentence."""
    worst = max(plan.ports, key=lambda port: port.bytes("safe"))
    where = f"{worst.port}, {units.rate(worst.rate_bps)}"
    return (
        f"At most {units.size(worst.bytes('safe'))} of data wait at any port ({where}) while at most "
        f"{plan.inputs['flows']:,} flows start or end there: so much buffer loses no data."
    )


def inputs_line(plan: model.Plan) -> str:
    """The network and credits that the bounds hold for, in one line."""
    used = plan.inputs
    least, most = used["credit_sizes_bytes"]
    sizes = f"{least} B" if least == most else f"{least} to {most} B, busy for {units.seconds(used['busy_s'])}"
    fast, slow = used["host_delay_s"]
    small = f", {used['leftover_bytes']} B left over by each of {used['pairs']} pairs" if used["leftover_bytes"] else ""
    return (
        f"Credit queue {used['credit_queue']}, credits of {sizes}, bucket {used['bucket_bytes']} B, frames of "
        f"{used['frame_bytes']} B, hosts {fast * 1e6:g} to {slow * 1e6:g} us "
        f"({'by turns' if used['turns'] else 'in order'}), {used['flows']} flows a port{small}"
    )


def class_texts(plan: model.Plan, by: model.Reading) -> tuple[list[str], list[list[str]]]:
    """The bounds of each class in all readings."""
    head = ["class", "rate", "ports", "safe KB", "paper KB", "min KB", "smallest safe KB", "spread us (safe)"]
    rows = []
    for found in plan.classes(by):
        worst = found.worst
        bounds = [f"{worst.bytes(reading) / 1e3:,.1f}" for reading in model.READINGS]
        spread = f"{worst.bounds['safe']['spread_s'] * 1e6:,.1f}"
        least = f"{found.least['safe'] / 1e3:,.1f}"
        rows.append([found.kind, units.rate(found.rate_bps), f"{found.ports:,}", *bounds, least, spread])
    return head, rows


def part_texts(rows: list[tuple[str, model.PortBound]], reading: model.Reading) -> tuple[list[str], list[list[str]]]:
    """The terms of each bound in KB: hosts, credit queues, paths."""
    parts = {part: name for part, name in model.PARTS.items() if any(port.bounds[reading][part] for _, port in rows)}
    texts = [
        [name, *(f"{port.bounds[reading][part] / 1e3:,.1f}" for part in parts), f"{port.bytes(reading) / 1e3:,.1f}"]
        for name, port in rows
    ]
    return [f"KB ({reading})", *parts.values(), "together"], texts


def as_dict(plan: model.Plan, chosen: list[model.PortBound] | None) -> dict[str, Any]:
    """The answer for `--json`: inputs, bounds, and the terms of each."""
    ports = plan.ports if chosen is None else chosen
    classes = [
        {
            "class": found.kind,
            "rate_bps": found.rate_bps,
            "ports": found.ports,
            "worst": found.worst.port,
            **{f"{reading}_bytes": found.worst.bytes(reading) for reading in model.READINGS},
        }
        for found in plan.classes()
    ]
    rows = [{"port": port.port, "class": port.kind, "rate_bps": port.rate_bps, **port.bounds} for port in ports]
    return {"inputs": plan.inputs, "classes": classes, "ports": rows}
