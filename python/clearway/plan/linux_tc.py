"""Settings of a Linux switch: HTB classes for credits, signals and data at each port, as a shell script.

HTB counts frames without preamble, gap and check sequence, so each class adds 24 B and counts at least 84 B. It lets a
packet pass as long as its bucket isn't overdrawn; so a bucket of one credit passes two at once, the paper's depth.
Signals are the control frames of Clearway's hosts that are no credits: requests for credits, stops, and the answers to
both.
"""

from __future__ import annotations

import math
from dataclasses import replace

from clearway.plan.switches import Port

#: EtherType of credits: one that IEEE 802 leaves to experiments.
ETHERTYPE = "0x88b5"
#: Kind of a control frame that is a credit, the second byte behind the Ethernet header.
CREDIT_KIND = 9
OVERHEAD, MPU, QUANTUM = 24, 84, 1514
#: Size of a credit in a UDP datagram on the wire, over both versions of IP.
UDP_CREDIT = 132
#: Places of a control frame's kind in a UDP datagram behind the Ethernet header, and preferences of filters.
UDP_FILTERS = (("ip", "ip", 29, 5), ("ipv6", "ip6", 49, 7))
#: tc counts buckets in whole microseconds, rounded down.
TICK_S = 1e-6
#: Signals that a port lets pass at once, and that may wait there, as the daemon has them.
SIGNALS_AT_ONCE, SIGNAL_QUEUE = 32, 256
#: Time that a port's own bucket lasts: HTB's timer is late now and then, and what it missed must fit. It is `TIMER` of
#: `crates/planner/src/htb.rs`.
PORT_BURST_S = 100e-6
FILTER = 'tc filter add dev "$1" parent 1: protocol'

HEAD = """\
#!/bin/sh
# Credit classes of ExpressPass for Linux switches, by `clearway plan switch --target linux-tc`.
#
#   sh {name}              sets every port below; again, it sets them anew
#   sh {name} --undo       takes the settings away
#
# Credits are frames of EtherType {ethertype} and kind {kind}{dscp}; other frames of the EtherType are signals, and
# have twice the rate of credits before data; all else is data. Each line of a port: device, rate, credit rate (bit/s),
# bucket of credits (B), credits that may wait, bucket of the port (B), data packets that may wait, bucket of signals
# (B).
{udp}set -eu

undo() {{
    tc qdisc del dev "$1" root 2>/dev/null || true
}}

port() {{
    undo "$1"
    [ "$action" = set ] || return 0
    tc qdisc add dev "$1" root handle 1: htb default 20
    tc class add dev "$1" parent 1: classid 1:1 htb rate "$2bit" ceil "$2bit" burst "$6" cburst "$6" {size}
    tc class add dev "$1" parent 1:1 classid 1:10 htb rate "$3bit" ceil "$3bit" burst "$4" cburst "$4" prio 0 {size}
    tc class add dev "$1" parent 1:1 classid 1:18 htb rate "$(($3 * 2))bit" ceil "$2bit" burst "$8" cburst "$6" prio 0 \
        {size}
    tc class add dev "$1" parent 1:1 classid 1:20 htb rate "$2bit" ceil "$2bit" burst "$6" cburst "$6" prio 1 {size}
    tc qdisc add dev "$1" parent 1:10 handle 10: pfifo limit "$5"
    tc qdisc add dev "$1" parent 1:18 handle 18: pfifo limit {signals}
    {data}
    tc filter add dev "$1" parent 1: protocol {ethertype} prio 1 u32 match u8 {kind} 0xff at 1 flowid 1:10
    tc filter add dev "$1" parent 1: protocol {ethertype} prio 2 u32 match u32 0 0 flowid 1:18
{filters}}}

case "${{1-}}" in
    "") action=set ;;
    --undo) action=undo ;;
    *) echo "$0: $1: write nothing, or --undo" >&2; exit 2 ;;
esac
"""


def script(
    switches: dict[str, list[Port]], dscp: int | None, *, ecn: bool, name: str = "switch.sh", udp: int | None = None
) -> str:
    """The script for these switches. With `udp` hosts send control frames in datagrams to that port."""
    filters = list[str]()
    if udp is not None:
        switches = {switch: [over_udp(port) for port in ports] for switch, ports in switches.items()}
        for protocol, ip, at, preference in UDP_FILTERS:
            matched = f"u32 match {ip} protocol 17 0xff match {ip} dport {udp} 0xffff"
            filters += [
                f"{FILTER} {protocol} prio {preference} {matched} match u8 {CREDIT_KIND} 0xff at {at} flowid 1:10",
                f"{FILTER} {protocol} prio {preference + 1} {matched} flowid 1:18",
            ]
    if dscp is not None:
        field = dscp << 2
        filters += [
            f"{FILTER} ip prio 3 u32 match ip dsfield {field:#04x} 0xfc flowid 1:10",
            f"{FILTER} ipv6 prio 4 u32 match ip6 priority {field:#04x} 0xfc flowid 1:10",
        ]
    data = 'tc qdisc add dev "$1" parent 1:20 handle 20: pfifo limit "$7"'
    if ecn:
        data = (
            'tc qdisc add dev "$1" parent 1:20 handle 20: red limit "${10}" min "$9" max "$(($9 + 1538))" avpkt 1000 '
            'burst "$(($9 / 1000 + 1))" bandwidth "$2bit" probability 1 ecn'
        )
    head = HEAD.format(
        name=name,
        ethertype=ETHERTYPE,
        kind=CREDIT_KIND,
        signals=SIGNAL_QUEUE,
        dscp="" if dscp is None else f" or packets of DSCP {dscp}",
        udp="" if udp is None else f"# Credits and signals travel in UDP datagrams to port {udp} too.\n",
        size=f"overhead {OVERHEAD} mpu {MPU} quantum {QUANTUM}",
        data=data,
        filters="".join(f"    {line}\n" for line in filters),
    )
    parts = [section(switch, ports, ecn=ecn) for switch, ports in switches.items()]
    return head + "".join(parts)


def over_udp(port: Port) -> Port:
    """The port with the share of credits in datagrams: 132 of 1670 bytes, where the frames of data have 1538."""
    return replace(
        port,
        credit_bytes=UDP_CREDIT,
        credit_bps=port.rate_bps * UDP_CREDIT // (UDP_CREDIT + port.frame_bytes),
        credit_burst=port.credit_burst * UDP_CREDIT // port.credit_bytes,
    )


def section(switch: str, ports: list[Port], *, ecn: bool) -> str:
    """The ports of one switch."""
    lines = [f"\n# {switch}"]
    for port in ports:
        lines.append(
            f"# {port.name}: at most {port.data_bytes:,} B of data wait; K for transports that react to marks "
            f"{port.marking_frames} frames ({port.marking_bytes:,} B); PFC, which Linux has none of, would need "
            f"{port.headroom_bytes:,} B of headroom"
        )
        more = f" {port.marking_bytes} {max(port.data_bytes, 2 * port.marking_bytes)}" if ecn else ""
        lines.append(
            f"port {port.device} {port.rate_bps} {port.credit_bps} {credit_burst(port)} {port.credit_queue} "
            f"{port_burst(port)} {port.data_packets} {signal_burst(port)}{more}"
        )
    return "\n".join(lines) + "\n"


def credit_burst(port: Port) -> int:
    """HTB's bucket for credits: one less than the paper's, since HTB lets one more pass; or what its timer needs.

    It is eight credits at most, and a microsecond at least, as in `crates/planner/src/htb.rs`, which the daemon uses.
    """
    least = math.ceil(port.credit_bps / 8 * TICK_S)
    timer = min(int(port.credit_bps / 8 * PORT_BURST_S), 8 * port.credit_bytes)
    return max(port.credit_burst - port.credit_bytes, port.credit_bytes, timer, least)


def signal_burst(port: Port) -> int:
    """HTB's bucket for signals: those that a host sends at once, and a microsecond at least."""
    return max(SIGNALS_AT_ONCE * port.credit_bytes, math.ceil(port.credit_bps * 2 / 8 * TICK_S))


def port_burst(port: Port) -> int:
    """HTB's bucket for a port: a frame, or what its timer needs."""
    return max(port.frame_bytes, int(port.rate_bps / 8 * PORT_BURST_S))
