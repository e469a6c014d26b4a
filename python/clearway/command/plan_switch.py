"""`clearway plan switch`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from clearway import _clearway
from clearway.command.names import Choice, NetworkWord
from clearway.command.plan_buffers import leftover_option
from clearway.command.shared import notes
from clearway.plan import linux_tc, sonic
from clearway.plan.limits import starting
from clearway.plan.networks import named
from clearway.plan.stated import FlowControl, Refused, Stated, stated
from clearway.plan.switches import Port, ports

EXAMPLES = """\b
Examples:
  clearway plan switch --target linux-tc star hosts=4 rate="100 Mbps" --dev "p{port}" > switch.sh
  clearway plan switch --target linux-tc leaf-spine leaves=2 rate="1 Gbps" --out scripts
  clearway plan switch --target sonic leaf-spine rate="25 Gbps" --switch tor0 > tor0.json
  clearway plan switch --target sonic rdma-incast --out config
"""
DEVICES = {"linux-tc": "{switch}-{port}", "sonic": "Ethernet{lane}"}
ENDINGS = {"linux-tc": "sh", "sonic": "json"}


@click.command("switch", epilog=EXAMPLES)
@click.argument("topology", nargs=-1, required=True, metavar="TOPOLOGY [KEY=VALUE]...", type=NetworkWord())
@click.option("--target", type=Choice(list(DEVICES)), required=True, help="System that the switches run.")
@click.option("--switch", "names", multiple=True, help="Only this switch; repeatable.")
@click.option("--dev", "pattern", help="Names of devices: {switch}, {port}, {lane}, {to}.  [default: by target]")
@click.option("--dscp", type=click.IntRange(0, 63), help="DSCP of credits.  [default: linux-tc none, sonic 46]")
@click.option(
    "--flows",
    type=click.IntRange(0, 10_000_000),
    help="Flows that start or end through one port, as for `plan buffers`, from which the data queue's limit comes.",
)
@leftover_option
@click.option("--ecn", is_flag=True, help="linux-tc: mark data at K by RED (which the kernel must have).")
@click.option(
    "--control",
    type=Choice(["ethernet", "udp"]),
    default="ethernet",
    show_default=True,
    help="linux-tc: how control frames of Clearway's hosts travel, as `clearwayd host --control` says.",
)
@click.option(
    "--control-port", type=click.IntRange(1, 65535), default=61021, show_default=True, help="linux-tc: their UDP port."
)
@click.option("--pfc/--no-pfc", default=None, help="sonic: flow control.  [default: if the scenario has it]")
@click.option(
    "--cell", type=click.IntRange(1, 10_000), default=256, show_default=True, help="sonic: buffer unit in bytes."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for one file per switch.")
def switch(
    topology: tuple[str, ...],
    target: str,
    names: tuple[str, ...],
    pattern: str | None,
    dscp: int | None,
    flows: int | None,
    leftover: int,
    ecn: bool,
    control: str,
    control_port: int,
    pfc: bool | None,
    cell: int,
    out: Path | None,
) -> None:
    """Print the settings of every switch port as a script or configuration: credit class, rate, bucket, queue, K, PFC.

    TOPOLOGY is a scenario file, a topology file, or a shape of `clearway list topologies` with its keys. A scenario
    file's own marking, flow control, classes and buffers are printed; what the target can't say is refused. linux-tc
    is for the scenarios of `plan buffers`; sonic also for transports that ask for nothing but marks and flow control.
    """
    refuse_strangers(target, ecn=ecn, pfc=pfc, control=control)
    scenario, is_scenario = named(topology)
    says = Stated(pfc=FlowControl() if pfc else None)
    if is_scenario:
        try:
            says = stated(scenario, target, ecn=ecn, pfc=pfc)
        except Refused as why:
            raise _clearway.ScenarioError(f"{topology[0]}: {why}") from None
    if flows is None:
        flows = max(16, starting(scenario)) if is_scenario else 16
    of_switches = ports(
        scenario,
        pattern or DEVICES[target],
        flows,
        is_scenario=is_scenario,
        leftover=leftover,
        udp=control == "udp",
    )
    found = {name: [says.at(port) for port in of_switch] for name, of_switch in of_switches.items()}
    for name in names:
        if name not in found:
            raise click.UsageError(
                f"--switch {name!r}: is no switch of the network{_clearway.suggestion(name, list(found))}; it has "
                f"{', '.join(list(found)[:8])}"
            )
    chosen = {name: found[name] for name in (names or found)}
    dscp = 46 if dscp is None and target == "sonic" else dscp

    def text(switches: dict[str, list[Port]], name: str) -> str:
        if target == "linux-tc":
            udp = control_port if control == "udp" else None
            return linux_tc.script(switches, dscp, ecn=ecn, name=name, udp=udp)
        configs = {of: sonic.config(ports, dscp or 0, cell, says) for of, ports in switches.items()}
        whole = next(iter(configs.values())) if len(configs) == 1 else configs
        return json.dumps(whole, indent=2) + "\n"

    if out is None:
        click.echo(text(chosen, "switch.sh"), nl=False)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, of_switch in chosen.items():
            file = f"{name}.{ENDINGS[target]}"
            (out / file).write_text(text({name: of_switch}, file))
    except OSError as error:
        raise click.UsageError(f"--out {out}: can't be written: {error.strerror}") from None
    notes().print(f"{len(chosen)} files in {out}", markup=False)


def refuse_strangers(target: str, *, ecn: bool, pfc: bool | None, control: str) -> None:
    """Refuses options that mean nothing for the target."""
    if target == "sonic" and control == "udp":
        raise click.UsageError("--control: sonic's credits are told by their DSCP; leave it out, and write --dscp 7")
    if target == "sonic" and ecn:
        raise click.UsageError("--ecn: sonic's configuration has marks in any case; leave it out")
    if target == "linux-tc" and pfc is not None:
        raise _clearway.ScenarioError("--pfc: Linux has no flow control by class; leave it out, or use --target sonic")
