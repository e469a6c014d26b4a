"""The boxes of a picture: nodes drawn one by one, or several as one box, so that large networks are legible.

A network falls into columns: the pods of a tree, the leaves of a leaf-spine, the switches of a line. Of many columns a
few are drawn, and the others stand together; so do the switches of a column and the hosts of a switch. The two ends of
paths have boxes of their own, and so have the switches between if they are few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clearway.show.graph import Graph

#: Boxes of one kind that are drawn before some stand together.
COLUMNS, PODS, SWITCHES, TOP, HOSTS = 12, 4, 4, 8, 4
#: Hosts of a network in which all are drawn one by one, and of one in which few at a switch are.
FEW_HOSTS, ALL_HOSTS = 16, 32


@dataclass(frozen=True)
class Item:
    """A box of the picture: one node, or several of a tier."""

    nodes: tuple[int, ...]
    tier: int


@dataclass
class Block:
    """A switch next to hosts, and the boxes of its hosts; without a switch, hosts alone."""

    switch: Item | None
    hosts: list[Item] = field(default_factory=list)


@dataclass
class Column:
    """A part of the network that stands beside others: its blocks, and the boxes of its higher tiers."""

    blocks: list[Block]
    upper: dict[int, list[Item]] = field(default_factory=dict)


@dataclass
class Folded:
    """The boxes of a network: columns, and above them the tiers that join all columns."""

    columns: list[Column]
    top: dict[int, list[Item]]

    def items(self) -> Iterable[Item]:
        """All boxes."""
        for column in self.columns:
            for block in column.blocks:
                yield from ([block.switch] if block.switch else [])
                yield from block.hosts
            for items in column.upper.values():
                yield from items
        for items in self.top.values():
            yield from items


def runs(nodes: Sequence[int], most: int, forced: set[int]) -> list[tuple[int, ...]]:
    """The nodes one by one if there are few, else the first two, the last and the forced ones, and others together."""
    if len(nodes) <= most:
        return [(node,) for node in nodes]
    shown = {nodes[0], nodes[1], nodes[-1], *forced}
    found: list[tuple[int, ...]] = []
    apart = True
    for node in nodes:
        if node in shown or apart:
            found.append((node,))
        else:
            found[-1] += (node,)
        apart = node in shown
    return found


def parts(graph: Graph, below: int) -> list[list[int]]:
    """The parts into which the network falls without the switches of tier `below` and higher, by their first node."""
    part: dict[int, int] = {}
    found: list[list[int]] = []
    for start, tier in enumerate(graph.tiers):
        if tier >= below or start in part:
            continue
        part[start] = len(found)
        reached = [start]
        for node in reached:
            for other in graph.neighbours[node]:
                if graph.tiers[other] < below and other not in part:
                    part[other] = len(found)
                    reached.append(other)
        found.append(sorted(reached))
    return found


def home(graph: Graph, host: int) -> int | None:
    """The switch that a host stands below: its first neighbour that is one."""
    return next((node for node in graph.neighbours[host] if node >= graph.hosts), None)


def columns_of(graph: Graph) -> tuple[list[list[int]], int]:
    """The nodes of each column, and the least tier that stands above all columns."""
    highest = max(graph.tiers)
    for below in range(highest, 1, -1):
        found = parts(graph, below)
        if len(found) > 1:
            return found, below
    below = min(2, highest + 1)
    by_switch: dict[int | None, list[int]] = defaultdict(list)
    for switch in range(graph.hosts, len(graph.names)):
        if graph.tiers[switch] < 2:
            by_switch[switch] = [switch]
    for host in range(graph.hosts):
        by_switch[home(graph, host)].append(host)
    return [sorted(nodes) for nodes in by_switch.values()], 2


def fold(graph: Graph, forced: set[int]) -> Folded:
    """The boxes of a network. The `forced` nodes have boxes of their own."""
    columns, below = columns_of(graph)
    has_pods = any(sum(graph.tiers[node] > 0 for node in nodes) > 1 for nodes in columns)
    keep = {number for number, nodes in enumerate(columns) if forced & set(nodes)}
    if len(keep) > COLUMNS:
        ends = {node for node in forced if node < graph.hosts}
        keep = {number for number, nodes in enumerate(columns) if ends & set(nodes)}
    shown = runs(range(len(columns)), PODS if has_pods else COLUMNS, keep)
    most = graph.hosts if graph.hosts <= FEW_HOSTS else HOSTS if graph.hosts <= ALL_HOSTS else 1
    made = []
    for numbers in shown:
        if len(numbers) > 1:
            made.append(together(graph, [node for number in numbers for node in columns[number]]))
        else:
            made.append(column(graph, columns[numbers[0]], forced, most))
    tops: dict[int, list[int]] = defaultdict(list)
    for node, tier in enumerate(graph.tiers):
        if tier >= below:
            tops[tier].append(node)
    top = {
        tier: [Item(run, tier) for run in runs(nodes, TOP, few(forced & set(nodes)))] for tier, nodes in tops.items()
    }
    return Folded(made, top)


def few(nodes: set[int]) -> set[int]:
    """The nodes if they are few enough to be drawn one by one."""
    return nodes if len(nodes) <= TOP else set()


def together(graph: Graph, nodes: Iterable[int]) -> Column:
    """A column in which the nodes of each tier are one box."""
    tiers: dict[int, list[int]] = defaultdict(list)
    for node in nodes:
        tiers[graph.tiers[node]].append(node)
    items = {tier: Item(tuple(sorted(found)), tier) for tier, found in tiers.items()}
    block = Block(items.pop(1, None), [items.pop(0)] if 0 in items else [])
    return Column([block], {tier: [item] for tier, item in items.items()})


def column(graph: Graph, nodes: list[int], forced: set[int], most: int) -> Column:
    """A column with the boxes of its switches and hosts. Up to `most` hosts of a switch are drawn one by one."""
    hosts: dict[int | None, list[int]] = defaultdict(list)
    tiers: dict[int, list[int]] = defaultdict(list)
    for node in nodes:
        if graph.tiers[node] == 0:
            hosts[home(graph, node)].append(node)
        else:
            tiers[graph.tiers[node]].append(node)
    blocks = []
    for run in runs(tiers.pop(1, []), SWITCHES, few(forced)):
        below = sorted(host for switch in run for host in hosts.pop(switch, []))
        boxes = [Item(nodes, 0) for nodes in host_runs(below, forced, most if len(run) == 1 else 0)]
        blocks.append(Block(Item(run, 1), boxes))
    # Hosts without a switch of the first tier: linked to hosts alone, or to higher switches.
    rest = sorted(host for found in hosts.values() for host in found)
    if rest:
        blocks.append(Block(None, [Item(nodes, 0) for nodes in host_runs(rest, forced, most)]))
    upper = {tier: [Item(run, tier) for run in runs(found, SWITCHES, few(forced))] for tier, found in tiers.items()}
    return Column(blocks, upper)


def host_runs(hosts: list[int], forced: set[int], most: int) -> list[tuple[int, ...]]:
    """The hosts of a switch one by one if there are so few, else together but for the forced ones."""
    if len(hosts) <= most:
        return [(host,) for host in hosts]
    found: list[tuple[int, ...]] = []
    apart = True
    for host in hosts:
        if host in forced or apart:
            found.append((host,))
        else:
            found[-1] += (host,)
        apart = host in forced
    return found
