"""Draws the two pictures of `docs/explanation/architecture.md`: the rooms of the code, and a packet's way through them.

`tools/docs.py` writes them with the other generated parts of `docs/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

INK, SOFT, LINE = "#1f2933", "#52606d", "#7b8794"
#: Fill and border of a box, by what it shows.
COLORS = {
    "user": ("#fbeee3", "#c0763a"),
    "simulator": ("#e6eefb", "#3b6fc4"),
    "protocol": ("#e3f2ec", "#2f8f6b"),
    "ground": ("#f1f0ea", "#8a8366"),
    "inner": ("#ffffff", "#9aa5b1"),
}


@dataclass
class Drawing:
    """A picture that is being drawn; coordinates are pixels from its upper left corner."""

    width: int
    height: int
    about: str
    body: str = ""

    def text(self, x: float, y: float, words: str, size: int = 12, *, bold: bool = False, left: bool = False) -> None:
        """Writes a line of text, centred at `x` or starting there."""
        weight, fill = ("600", INK) if bold else ("400", SOFT)
        anchor = "start" if left else "middle"
        style = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
        self.body += f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>\n'

    def box(self, x: float, y: float, w: float, h: float, title: str, *lines: str, kind: str = "inner") -> None:
        """Draws a box with a title and lines of text below it."""
        self.room(x, y, w, h, kind)
        top = y + (h - 18 - 16 * len(lines)) / 2 + 14
        self.text(x + w / 2, top, title, 13, bold=True)
        for number, line in enumerate(lines, start=1):
            self.text(x + w / 2, top + 1 + 16 * number, line)

    def room(self, x: float, y: float, w: float, h: float, kind: str, title: str = "") -> None:
        """Draws a frame around other boxes, with a title in its upper left corner."""
        fill, border = COLORS[kind]
        self.body += (
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8" fill="{fill}" stroke="{border}" '
            'stroke-width="1.4"/>\n'
        )
        if title:
            self.text(x + 16, y + 23, title, 14, bold=True, left=True)

    def arrow(self, path: str, *, dashed: bool = False) -> None:
        """Draws an arrow along an SVG path."""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.body += (
            f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.6"{dashes} marker-end="url(#head)"/>\n'
        )

    def svg(self) -> str:
        """The picture as a file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        font = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self.about)}" {font}>\n'
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{LINE}"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>\n{self.body}</svg>\n'
        )


def rooms() -> str:
    """The crates and the rooms inside them; an arrow points to what is used."""
    picture = Drawing(1180, 590, "The crates of Clearway and their rooms; every arrow points to what is used")
    picture.box(30, 16, 230, 58, "python/clearway", "core; papers, testbed; command", kind="user")
    picture.box(296, 16, 144, 58, "crates/python", "bindings, nothing else", kind="user")
    picture.box(466, 16, 120, 58, "crates/bench", "speed, memory", kind="user")
    picture.box(604, 16, 128, 58, "crates/vectors", "for NICs, of proto", kind="user")
    picture.box(752, 16, 118, 58, "crates/planner", "by formula", kind="user")
    picture.arrow("M260 45H294")
    picture.arrow("M440 64C450 84 644 88 654 76")
    picture.arrow("M440 66C460 100 776 98 790 76")
    for x in (368, 526, 830):
        picture.arrow(f"M{x} 74V112")

    picture.room(30, 114, 840, 178, "simulator", "crates/sim")
    rooms = [
        ("scenario", "from a file to a", "model; errors"),
        ("model", "what is run, every", "name resolved"),
        ("simulation", "the event loop,", "the lives of flows"),
        ("hosts", "ends and agents,", "driven by packets"),
        ("net", "a pipeline of ports,", "paths, packets, books"),
        ("engine", "events in", "their order"),
    ]
    for number, (name, *lines) in enumerate(rooms):
        picture.box(46 + 136 * number, 150, 128, 70, name, *lines)
    small = [
        ("traffic", "sizes and lists"),
        ("metrics", "tables, samples, hash"),
        ("oracle.rs", "ideal shares"),
        ("trace", "events, on crates/trace"),
    ]
    for number, (name, line) in enumerate(small):
        picture.box(46 + 204 * number, 232, 196, 46, name, line)
    picture.arrow("M450 292V326")

    picture.room(890, 16, 260, 276, "simulator", "crates/linux: clearwayd")
    datapath = [
        ("service", "the daemon"),
        ("rules", "set and undone"),
        ("io", "queue, sockets"),
        ("switch", "tc, user space"),
        ("host", "ExpressPass, EC4"),
        ("pac", "holds ACKs"),
    ]
    for number, (name, line) in enumerate(datapath):
        picture.box(904 + 120 * (number % 2), 52 + 58 * (number // 2), 112, 50, name, line)
    picture.box(904, 232, 232, 46, "wire", "TCP headers, control frames")
    picture.arrow("M1020 292V326")
    picture.arrow("M888 45H872")

    picture.room(30, 328, 1120, 162, "protocol", "crates/proto: state machines without clock or socket")
    picture.box(902, 338, 232, 30, "registry.rs: the list")
    widths = {"expresspass": 108, "ack_shaper": 102, "numbered": 96, "blast.rs": 84}
    folders = ("expresspass", "ec4", "pac", "ictcp", "ack_shaper", "tcp", "rdma", "ndp", "eqds", "uec", "numbered")
    left = 46
    for name in (*folders, "blast.rs"):
        width = widths.get(name, 79)
        picture.box(left, 378, width, 40, name)
        left += width + 6
    ground = "packet, endpoint, needs, transport, agent, order, mechanism, entropy, port, ranges, rng"
    picture.box(46, 430, 1088, 46, "ground", ground)
    picture.arrow("M590 490V522")

    picture.box(30, 524, 300, 52, "crates/topology", "shapes, files, routing", kind="ground")
    picture.box(440, 524, 300, 52, "crates/schema", "parameters and keys, declared once", kind="ground")
    picture.box(850, 524, 300, 52, "crates/units", "Time, Span, Rate, Bytes", kind="ground")
    picture.arrow("M330 550H438")
    picture.arrow("M740 550H848")
    picture.arrow("M14 200H8V550H28")
    picture.body += f'<path d="M30 200H8" fill="none" stroke="{LINE}" stroke-width="1.6"/>\n'
    return picture.svg()


def way() -> str:
    """The way of a data packet from the application that writes it to the receiver, and of the answer back."""
    picture = Drawing(960, 444, "The way of a data packet from its sender over a port to its receiver")
    picture.room(20, 16, 270, 318, "protocol", "sending host")
    picture.room(330, 16, 300, 318, "simulator", "output port, at every hop")
    picture.room(670, 16, 270, 318, "protocol", "receiving host")

    picture.box(45, 54, 220, 50, "application", "write, close, truncate")
    picture.box(45, 142, 220, 66, "Sender", "control packets leave at once,", "data when the NIC asks")
    picture.box(45, 246, 220, 66, "NIC", "asks the host's flows in turn,", "class by class")
    picture.arrow("M155 104V140")
    picture.arrow("M155 208V244")

    picture.box(355, 54, 250, 50, "mechanism, on arrival", "RCP, PACC: where a port has one")
    picture.box(
        355, 124, 250, 66, "queue of its class", "limit, memory, marks, pause frames;", "it waits or is dropped"
    )
    picture.box(355, 208, 250, 50, "scheduler", "credits within their rate, then data")
    picture.box(355, 276, 250, 50, "mechanism, on departure", "HULL, HPCC, RCP: where a port has one")
    for top in (104, 190, 258):
        picture.arrow(f"M480 {top}V{top + 18}")

    picture.box(695, 246, 220, 66, "host", "a processing delay; packets of", "one flow keep their order")
    picture.box(
        695, 142, 220, 66, "Agent: PAC, ICTCP, shaper", "sees what arrives, holds or", "rewrites what goes back"
    )
    picture.box(695, 54, 220, 50, "Receiver", "delivers in order; answers")
    picture.arrow("M805 246V210")
    picture.arrow("M805 142V106")

    picture.arrow("M265 279C312 279 305 79 353 79")
    picture.arrow("M605 301C650 301 645 279 693 279")
    picture.arrow("M805 334C805 432 155 432 155 336", dashed=True)
    picture.text(480, 366, "ACKs, credits and CNPs go back over ports of the same kind to the sender")
    picture.text(480, 430, "One event a hop: the arrival at the next node. A port that is busy wakes once more.")
    return picture.svg()
