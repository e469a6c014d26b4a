"""The three numbers of the front page of the documentation, from the committed evidence; none is typed by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

from clearway.reproduce import figures, scoreboard

#: The case of `docs/data/speed/cases.json` whose speed is shown: a workload of the papers under ExpressPass.
CASE = "websearch-192-expresspass"
#: The line of the page on parity that counts the rows of a case.
ROWS = re.compile(r"(\d+) of (\d+) rows agree")


#: The part of the front page that is written here.
PART = re.compile(r"<!-- numbers -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str, docs: Path) -> str:
    """The front page with its numbers written anew."""
    return PART.sub(lambda _: f"<!-- numbers -->\n{numbers_md(docs)}\n<!-- end -->", page)


def numbers_md(docs: Path) -> str:
    """The numbers as cards in Markdown, each with a link to its evidence."""
    million, day = speed(docs)
    agree, rows = parity(docs)
    share, tested = claims(docs)
    cards = [
        f"**{million:.1f} million packets a second** of one core are put on links: web search under ExpressPass on 192 "
        f"hosts, measured on {day}. [Speed and memory](results/speed.md)",
        f"**{agree} of {rows} rows agree** with the simulators of the transports' authors, on the same flows. "
        "[Parity](results/parity.md)",
        f"**{share:.0f} % of {tested} claims hold** of those of five papers that a simulation tests. "
        "[Scoreboard](results/README.md)",
    ]
    shown = "\n\n".join(f'<div class="card">\n\n{one}\n\n</div>' for one in cards)
    return f'<div class="cards numbers">\n\n{shown}\n\n</div>'


def speed(docs: Path) -> tuple[float, str]:
    """The link transmissions of a CPU-second in millions, and the day on which they were measured."""
    measured = json.loads((docs / "data" / "speed" / "cases.json").read_text("utf-8"))
    (case,) = (one for one in measured["cases"] if one["name"] == CASE)
    return case["million_tx_per_cpu_s"], measured["day"]


def parity(docs: Path) -> tuple[int, int]:
    """The rows that agree with other simulators, and all rows."""
    found = [(int(one), int(of)) for one, of in ROWS.findall((docs / "results" / "parity.md").read_text("utf-8"))]
    return sum(one for one, _ in found), sum(of for _, of in found)


def claims(docs: Path) -> tuple[float, int]:
    """The percentage of the tested claims that hold, and the number of tested claims; each counts once."""
    scores = scoreboard.scores(figures(), docs / "results" / "data")
    return 100 * scoreboard.share(scores), len(scoreboard.tested(scoreboard.once(scores)))
