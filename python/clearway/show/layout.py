"""The place of each box of a picture: hosts at the bottom, a row for each tier above."""

from __future__ import annotations

from dataclasses import dataclass

from clearway.show.folding import Block, Column, Folded, Item

#: Widths of boxes by what they hold, their height, and the space around them.
HOST, SWITCH, MANY = 44.0, 66.0, 104.0
HEIGHT = 30.0
GAP, BETWEEN = 10.0, 30.0
ROW = 128.0
LEFT, RIGHT, TOP, BOTTOM = 170.0, 24.0, 84.0, 30.0
#: The space between columns whose switches are linked to each other, for the rate of the link, and above them for arcs.
LINKED, ARCS = 130.0, 50.0
#: The largest width of a box, and the width of a character.
WIDEST, LETTER = 118.0, 7.2


@dataclass(frozen=True)
class Box:
    """A box at its place; `x` and `y` are its middle."""

    item: Item
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Layout:
    """A picture's boxes, the middles of its rows by tier, and its size."""

    boxes: list[Box]
    rows: dict[int, float]
    width: float
    height: float


def lay_out(folded: Folded, names: list[str], *, linked: bool = False, arcs: bool = False) -> Layout:
    """The places of all boxes. `linked`: switches of the highest row are linked to each other; `arcs`: over others."""
    tiers = sorted({item.tier for item in folded.items()}, reverse=True)
    first = TOP + (ARCS if arcs else 0.0)
    gap = LINKED if linked else BETWEEN
    rows = {tier: first + ROW * place for place, tier in enumerate(tiers)}

    def width_of(item: Item) -> float:
        """The width of a box."""
        if len(item.nodes) > 1:
            return MANY
        return max(SWITCH if item.tier else HOST, min(WIDEST, LETTER * len(names[item.nodes[0]]) + 14))

    def row_width(items: list[Item]) -> float:
        """The width of boxes beside each other."""
        return sum(map(width_of, items)) + GAP * max(0, len(items) - 1)

    def block_width(block: Block) -> float:
        """The width of a switch with its hosts below it."""
        return max(row_width(block.hosts), width_of(block.switch) if block.switch else 0.0)

    def column_width(column: Column) -> float:
        """The width of a column."""
        blocks = sum(map(block_width, column.blocks)) + 2 * GAP * max(0, len(column.blocks) - 1)
        return max([blocks, *map(row_width, column.upper.values())])

    boxes: list[Box] = []

    def place(items: list[Item], left: float, width: float) -> None:
        """Puts boxes of one row evenly into a width."""
        space = (width - sum(map(width_of, items))) / len(items) if items else 0.0
        at = left + space / 2
        for item in items:
            boxes.append(Box(item, at + width_of(item) / 2, rows[item.tier], width_of(item)))
            at += width_of(item) + space

    def beside(items: list[Item], left: float, width: float) -> None:
        """Puts boxes close together into the middle of a width."""
        used = row_width(items)
        place(items, left + (width - used) / 2 - GAP / 2, used + GAP)

    wanted = sum(map(column_width, folded.columns)) + gap * max(0, len(folded.columns) - 1)
    total = max([wanted, 420.0, *(row_width(items) for items in folded.top.values())])
    spare = (total - wanted) / max(1, len(folded.columns))
    left = LEFT
    for column in folded.columns:
        width = column_width(column) + spare
        blocks = sum(map(block_width, column.blocks))
        space = (width - blocks) / max(1, len(column.blocks))
        at = left + space / 2
        for block in column.blocks:
            if block.switch:
                beside([block.switch], at, block_width(block))
            beside(block.hosts, at, block_width(block))
            at += block_width(block) + space
        for items in column.upper.values():
            place(items, left, width)
        left += width + gap
    for items in folded.top.values():
        place(items, LEFT, total)
    return Layout(boxes, rows, LEFT + total + RIGHT, first + ROW * (len(tiers) - 1) + HEIGHT + BOTTOM)
