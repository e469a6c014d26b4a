"""The text that `clearway show` prints: the counts of a network, its rates and times, and the paths of a pair."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clearway.show.graph import Graph, Paths, counts, rate_text, time_text


def facts(graph: Graph) -> dict[str, Any]:
    """The counts, rates and times of a network, for `--json`."""
    kinds = Counter((link.rate_bps, link.delay_s, *tiers(graph, link.a, link.b)) for link in graph.links)
    far = graph.paths(*graph.farthest) if graph.farthest[0] != graph.farthest[1] else None
    return {
        "name": graph.name,
        "hosts": graph.hosts,
        "switches": len(graph.names) - graph.hosts,
        "links": len(graph.links),
        "host_names": graph.host_names,
        "switch_names": graph.switch_names,
        "kinds_of_links": [
            {"count": count, "rate_bps": rate, "delay_s": delay, "tiers": [low, high]}
            for (rate, delay, low, high), count in sorted(kinds.items(), key=lambda kind: (kind[0][2:], kind[0]))
        ],
        "oversubscription": graph.oversubscription,
        "diameter": far.hops if far else 0,
        "base_rtt_s": far.rtt_s if far else None,
        "farthest": [graph.names[host] for host in graph.farthest],
    }


def tiers(graph: Graph, a: int, b: int) -> tuple[int, int]:
    """The tiers that a link joins, the lower one first."""
    low, high = sorted((graph.tiers[a], graph.tiers[b]))
    return low, high


def text(graph: Graph) -> list[str]:
    """The lines of the summary."""
    found = facts(graph)
    lines = [
        f"{found['name']}: {counts(found)}",
        f"  hosts     {found['host_names']}",
    ]
    if found["switches"]:
        lines.append(f"  switches  {found['switch_names']}")
    for kind in found["kinds_of_links"]:
        low, high = (names(tier) for tier in kind["tiers"])
        rate, delay = rate_text(kind["rate_bps"]), time_text(kind["delay_s"])
        lines.append(f"  links     {kind['count']:,} x {rate}, {delay} ({low} - {high})")
    if found["base_rtt_s"] is not None:
        a, b = found["farthest"]
        lines.append(
            f"  diameter  {found['diameter']} links, base RTT {time_text(found['base_rtt_s'])} ({a} to {b}, a full "
            "frame there and the smallest back)"
        )
    if max(graph.tiers) > 1:
        lines.append(f"  oversubscription  {found['oversubscription']:.4g} (hosts' links to links up, at tier 1)")
    return lines


def names(tier: int) -> str:
    """The word for the nodes of a tier."""
    return "host" if tier == 0 else f"tier {tier}"


def path_text(graph: Graph, paths: Paths) -> list[str]:
    """The lines on the paths of a pair, a line for each hop."""
    a, b = graph.names[paths.src], graph.names[paths.dst]
    plural = "" if paths.count == 1 else "s"
    lines = [
        f"{a} to {b}: {paths.count:,.0f} shortest path{plural} of {paths.hops} links, "
        f"{time_text(paths.one_way_s)} one way for a full frame, base RTT {time_text(paths.rtt_s)}"
    ]
    shown = [(graph.names[one], graph.names[other], share) for one, other, share in paths.shares]
    lines += [f"  {100 * share:>6.3g} %  {one}->{other}" for one, other, share in shown[:40]]
    if len(shown) > 40:
        lines.append(f"  and {len(shown) - 40} ports more")
    return lines


def path_facts(graph: Graph, paths: Paths) -> dict[str, Any]:
    """The paths of a pair, for `--json`."""
    ports = [
        {"port": f"{graph.names[one]}->{graph.names[other]}", "share": share} for one, other, share in paths.shares
    ]
    return {
        "src": graph.names[paths.src],
        "dst": graph.names[paths.dst],
        "hops": paths.hops,
        "paths": paths.count,
        "one_way_s": paths.one_way_s,
        "base_rtt_s": paths.rtt_s,
        "ports": ports,
    }
