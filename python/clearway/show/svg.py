"""The picture of a network as SVG, with the paths of a pair of hosts in another colour."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape

from clearway.show.folding import fold
from clearway.show.graph import Graph, Link, Paths, counts
from clearway.show.layout import HEIGHT, ROW, Box, Layout, lay_out

#: The first line of every picture, by which the command knows its own files.
MARK = "<!-- drawn by clearway show -->"
#: Kinds of links of a row that its label lists, and paths' links that get a label with their share.
KINDS, SHARES = 3, 40

STYLE = """\
svg { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 12px }
.paper { fill: #ffffff } .title { font-size: 16px; font-weight: 600 } text { fill: #1f2328 }
.muted { fill: #59636e } .link { stroke: #8c96a0; fill: none; stroke-opacity: .6 }
.box { fill: #f3f5f7; stroke: #59636e } .host { fill: #ffffff } .stack { fill: #e3e7eb; stroke: #59636e }
.path { stroke: #1f6feb; fill: none } .end { stroke: #1f6feb; stroke-width: 2.5 }
.share, .rate { font-size: 11px; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
.share { fill: #1657b8; font-weight: 600 }
@media (prefers-color-scheme: dark) {
.paper { fill: #14181f } text { fill: #e6edf3 } .muted { fill: #9aa5b1 } .link { stroke: #77818c }
.box { fill: #222831; stroke: #9aa5b1 } .host { fill: #14181f } .stack { fill: #2d343e; stroke: #9aa5b1 }
.path, .end { stroke: #58a6ff } .share, .rate { stroke: #14181f } .share { fill: #79b8ff } }
"""

#: The style of hot ports.
HOT = """\
.hot { stroke: #c8371b; fill: none } text.queue { fill: #a3260f }
@media (prefers-color-scheme: dark) { .hot { stroke: #ff8a65 } text.queue { fill: #ffab91 } }
"""

#: The links between two boxes.
Joined = dict[tuple[int, int], list[Link]]


@dataclass
class Heat:
    """The heat of the ports of a network: for each the share of the hottest, from 0 to 1, and words about it."""

    ports: dict[tuple[int, int], tuple[float, str]] = field(default_factory=dict)
    #: Texts that stand at a port.
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    #: Nodes that have a box of their own.
    apart: set[int] = field(default_factory=set)

    def add(self, a: int, b: int, share: float, words: str, label: str = "") -> None:
        """Adds the port of node `a` towards `b`."""
        self.ports[a, b] = max(self.ports.get((a, b), (0.0, "")), (share, words))
        if label:
            self.labels[a, b] = label


def draw(
    graph: Graph, paths: Paths | None = None, heat: Heat | None = None, title: str | None = None, more: str = ""
) -> str:
    """The picture of a network; `paths` are drawn in another colour, with the shares of the traffic.

    With `heat`, links are the wider and redder the hotter the ports at their ends. The title is the graph's name by
    default, and `more` stands below it, behind the numbers of nodes and links.
    """
    forced = {node for a, b, _ in paths.shares for node in (a, b)} if paths else set()
    forced |= heat.apart if heat else set()
    highest = max(graph.tiers)
    level = [link for link in graph.links if graph.tiers[link.a] == graph.tiers[link.b] == highest]
    arcs = any(abs(link.a - link.b) > 1 for link in level)
    layout = lay_out(fold(graph, forced), graph.names, linked=bool(level), arcs=arcs)
    place = {node: number for number, box in enumerate(layout.boxes) for node in box.item.nodes}
    joined: Joined = defaultdict(list)
    for link in graph.links:
        a, b = sorted((place[link.a], place[link.b]))
        if a != b:
            joined[a, b].append(link)
    shares: dict[tuple[int, int], float] = defaultdict(float)
    for a, b, share in paths.shares if paths else ():
        shares[place[a], place[b]] += share
    used = {tuple(sorted(pair)) for pair in shares}
    lines = [line(layout, pair, links) for pair, links in sorted(joined.items()) if pair not in used]
    lines += [path_line(layout, pair, share, len(shares)) for pair, share in shares.items() if pair[0] != pair[1]]
    ends = {place[paths.src], place[paths.dst]} if paths else set()
    lines += hot_lines(layout, place, heat) if heat else []
    boxes = [box_text(graph, box, is_end=number in ends) for number, box in enumerate(layout.boxes)]
    parts = [*lines, *level_labels(layout, joined), *row_labels(graph, layout, joined), *boxes]
    if paths:
        leaving, arriving = Counter(a for a, _ in shares), Counter(b for _, b in shares)
        for (a, b), share in shares.items():
            if a != b and len(shares) <= SHARES:
                # Where links fan out they stand apart at their far end, where they join at the near one.
                at = 0.72 if leaving[a] >= arriving[b] else 0.28
                parts.append(share_text(layout, (a, b), share, at))
    parts += hot_labels(layout, place, heat) if heat else []
    style = STYLE + (HOT if heat else "")
    return page(graph, layout, style, title or graph.name, more or path_words(graph, paths), parts)


def page(graph: Graph, layout: Layout, style: str, name: str, more: str, parts: Iterable[str]) -> str:
    """The parts as an SVG file."""
    width, height = math.ceil(layout.width), math.ceil(layout.height)
    numbers = {"hosts": graph.hosts, "switches": len(graph.names) - graph.hosts, "links": len(graph.links)}
    title = f'<text class="title" x="20" y="30">{escape(name)}</text>'
    sub = f'<text class="muted" x="20" y="49">{counts(numbers)}{escape(more)}</text>'
    size = f'width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>',
            MARK,
            f"<style>{style}</style>",
            f'<rect class="paper" {size}/>',
            title,
            sub,
            *parts,
            "</svg>\n",
        ]
    )


def path_words(graph: Graph, paths: Paths | None) -> str:
    """The pair whose paths are drawn."""
    if paths is None:
        return ""
    a, b = graph.names[paths.src], graph.names[paths.dst]
    plural = "" if paths.count == 1 else "s"
    return f"; {a} to {b}: {paths.count:,.0f} shortest path{plural} of {paths.hops} links, shares of the traffic"


def thickness(bps: float) -> float:
    """The width of a line: a step for each tenfold rate."""
    return round(min(5.0, max(0.8, 1.0 + math.log10(max(bps, 1.0) / 1e9))), 2)


def ends(layout: Layout, pair: tuple[int, int]) -> tuple[float, float, float, float]:
    """The points at which a line between two boxes begins and ends."""
    a, b = (layout.boxes[number] for number in pair)
    if a.y == b.y:
        return a.x, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2
    down = math.copysign(HEIGHT / 2, b.y - a.y)
    return a.x, a.y + down, b.x, b.y - down


def curve(layout: Layout, pair: tuple[int, int]) -> str:
    """The line between two boxes: straight, or an arc between boxes of a row that others stand between."""
    a, b = (layout.boxes[number] for number in pair)
    if a.y != b.y:
        x, y, to_x, to_y = ends(layout, pair)
        return f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
    low, high = sorted((a, b), key=lambda box: box.x)
    if not any(low.x < box.x < high.x and box.y == a.y for box in layout.boxes):
        return f"M{low.x + low.width / 2:.1f} {low.y:.1f}L{high.x - high.width / 2:.1f} {high.y:.1f}"
    top = low.y - HEIGHT / 2
    y = top - lift(low, high)
    return f"M{low.x:.1f} {top:.1f}C{low.x:.1f} {y:.1f} {high.x:.1f} {y:.1f} {high.x:.1f} {top:.1f}"


def lift(low: Box, high: Box) -> float:
    """The height of the control points of an arc: the longer the higher, so that arcs stay apart."""
    return min(58.0, 22.0 + (high.x - low.x) / 25)


def line(layout: Layout, pair: tuple[int, int], links: list[Link]) -> str:
    """The line of the links between two boxes, which names them where the mouse rests."""
    rates = [link.rate_bps for link in links]
    kinds = sorted({link.text for link in links})
    hint = f"{len(links)} x {kinds[0]}" if len(kinds) == 1 else f"{len(links)} links: {'; '.join(kinds[:KINDS])}"
    return (
        f'<path class="link" stroke-width="{thickness(max(rates))}" d="{curve(layout, pair)}">'
        f"<title>{escape(hint)}</title></path>"
    )


def path_line(layout: Layout, pair: tuple[int, int], share: float, count: int) -> str:
    """The line of a path's link, the wider the more of the traffic it carries."""
    width = 1.6 + 3.4 * math.sqrt(share) if count > 1 else 4.0
    hint = f"<title>{percent(share)}</title>"
    return f'<path class="path" stroke-width="{width:.2f}" d="{curve(layout, pair)}">{hint}</path>'


def hot_lines(layout: Layout, place: Mapping[int, int], heat: Heat) -> list[str]:
    """The lines of links, over the others, as wide and opaque as the hottest port of theirs asks for."""
    hottest: dict[tuple[int, int], tuple[float, str]] = {}
    for (a, b), known in heat.ports.items():
        pair = (min(place[a], place[b]), max(place[a], place[b]))
        if pair[0] != pair[1]:
            hottest[pair] = max(hottest.get(pair, (0.0, "")), known)
    return [
        f'<path class="hot" stroke-width="{1.2 + 5 * math.sqrt(share):.2f}" stroke-opacity="{0.15 + 0.85 * share:.2f}" '
        f'd="{curve(layout, pair)}"><title>{escape(words)}</title></path>'
        for pair, (share, words) in sorted(hottest.items(), key=lambda one: one[1][0])
    ]


def hot_labels(layout: Layout, place: Mapping[int, int], heat: Heat) -> list[str]:
    """The texts at the hottest ports, where their links leave them."""
    found = []
    for (a, b), text in heat.labels.items():
        if place[a] == place[b]:
            continue
        x, y, to_x, to_y = ends(layout, (place[a], place[b]))
        at = f'x="{x + (to_x - x) * 0.3:.1f}" y="{y + (to_y - y) * 0.3 + 4:.1f}"'
        found.append(f'<text class="rate queue" font-weight="600" text-anchor="middle" {at}>{escape(text)}</text>')
    return found


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.3g} %"


def share_text(layout: Layout, pair: tuple[int, int], share: float, at: float) -> str:
    """The share of the traffic on its link, at a part of the way."""
    x, y, to_x, to_y = ends(layout, pair)
    if y == to_y:
        middle = f'x="{(x + to_x) / 2:.1f}" y="{y - HEIGHT / 2 + 15:.1f}"'
        return f'<text class="share" text-anchor="middle" {middle}>{percent(share)}</text>'
    return (
        f'<text class="share" text-anchor="middle" x="{x + (to_x - x) * at:.1f}" y="{y + (to_y - y) * at + 4:.1f}">'
        f"{percent(share)}</text>"
    )


def level_labels(layout: Layout, joined: Joined) -> list[str]:
    """The rates of links between neighbours of a row, which no label of a row tells."""
    found = []
    for (a, b), links in sorted(joined.items()):
        one, other = layout.boxes[a], layout.boxes[b]
        if one.y != other.y or (one.item.tier == 0 and len(links) > 1):
            continue
        low, high = sorted((one, other), key=lambda box: box.x)
        kinds = {link.text for link in links}
        text = next(iter(kinds)) if len(kinds) == 1 else f"{len(links)} links"
        if len(text) * 6.2 < high.x - high.width / 2 - low.x - low.width / 2:
            y = one.y - 7 if "C" not in curve(layout, (a, b)) else one.y - HEIGHT / 2 - 0.75 * lift(low, high)
            middle = f'x="{(low.x + high.x) / 2:.1f}" y="{y:.1f}"'
            found.append(f'<text class="rate" text-anchor="middle" {middle}>{text}</text>')
    return found


def row_labels(graph: Graph, layout: Layout, joined: Joined) -> list[str]:
    """The names of the rows, and between them the rates and delays of the links, with their numbers."""
    texts = []
    for tier, y in layout.rows.items():
        count = sum(of == tier for of in graph.tiers)
        kind = word(graph, tier) if tier else ("host" if count == 1 else "hosts")
        texts.append(f'<text class="muted" x="20" y="{y + 4:.1f}">{count:,} {escape(kind)}</text>')
    between: dict[tuple[float, float], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (a, b), links in joined.items():
        one, other = sorted((layout.boxes[a].y, layout.boxes[b].y))
        if other - one == ROW:
            for link in links:
                between[one, other][link.text] += 1
    for (one, other), kinds in between.items():
        ranked = sorted(kinds.items(), key=lambda kind: -kind[1])
        lines = [f"{count:,} x {text}" for text, count in ranked[:KINDS]]
        lines += [f"and {len(ranked) - KINDS} kinds more"] if len(ranked) > KINDS else []
        middle = (one + other) / 2 - 7.5 * (len(lines) - 1) + 4
        for number, text in enumerate(lines):
            texts.append(f'<text class="muted" x="20" y="{middle + 15 * number:.1f}">{escape(text)}</text>')
    return texts


def word(graph: Graph, tier: int) -> str:
    """The word for the switches of a tier: that of their names if they share one."""
    names = [name for name, of in zip(graph.names, graph.tiers, strict=True) if of == tier]
    words = {re.sub(r"\d+$", "", name) for name in names}
    only = words.pop() if len(words) == 1 else ""
    if len(only) < 2:
        return "switch" if len(names) == 1 else "switches"
    return f"{only} switch" if len(names) == 1 else f"{only} switches"


def box_text(graph: Graph, box: Box, *, is_end: bool) -> str:
    """A box with its name; one for several nodes looks like a stack."""
    nodes, left, top = box.item.nodes, box.x - box.width / 2, box.y - HEIGHT / 2
    kind = "box end" if is_end else "box"
    kind += "" if box.item.tier else " host"
    radius = 4 if box.item.tier else 14
    shape = f'width="{box.width:.1f}" height="{HEIGHT:.1f}" rx="{radius}"'
    if len(nodes) == 1:
        name = graph.names[nodes[0]]
        return (
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" {shape}><title>{escape(name)}</title></rect>'
            f'<text text-anchor="middle" x="{box.x:.1f}" y="{box.y + 4:.1f}">'
            f"{escape(shortened(name, box.width))}</text>"
        )
    first, last = graph.names[nodes[0]], graph.names[nodes[-1]]
    what = "hosts" if box.item.tier == 0 else "switches"
    return (
        f'<rect class="stack" x="{left + 5:.1f}" y="{top + 5:.1f}" {shape}/>'
        f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" {shape}>'
        f"<title>{escape(f'{first} to {last}')}</title></rect>"
        f'<text text-anchor="middle" x="{box.x:.1f}" y="{box.y - 1:.1f}">{len(nodes):,} {what}</text>'
        f'<text class="muted" font-size="10" text-anchor="middle" x="{box.x:.1f}" y="{box.y + 11:.1f}">'
        f"{escape(shortened(f'{first} .. {last}', box.width * 1.15))}</text>"
    )


def shortened(name: str, width: float) -> str:
    """The name, or what fits of it into a width."""
    most = max(3, int(width / 6.6))
    return name if len(name) <= most else name[: most - 2] + ".."
