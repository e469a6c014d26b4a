"""The scoreboard: five papers side by side on a short page, and the long table of all claims on another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clearway.reproduce import scoreboard
from clearway.reproduce.causes import KINDS
from clearway.reproduce.claims import VERDICTS
from clearway.reproduce.figure import Figure
from clearway.reproduce.page import table_md
from clearway.reproduce.readers import pictures
from clearway.reproduce.readers.model import ALL, SIZES, Counted, Paper
from clearway.reproduce.readers.page import WRITTEN, joined, share_text
from clearway.reproduce.scoreboard import PAPERS, Score

#: The page of all claims.
LONG = "all-claims"
#: Name of the row of claims that no figure has judged yet.
NO_VERDICT = "no verdict yet"


def groups(papers: Sequence[Paper]) -> dict[str, tuple[str, Counted]]:
    """The papers and all of them together, by name, with what they are called and their counts."""
    every = Counted(tuple(score for one in papers for score in one.scores))
    return {**{one.name: (one.called, one.counted) for one in papers}, ALL: (ALL, every)}


def board(papers: Sequence[Paper], figures: Mapping[str, Figure], folder: Path, images: str) -> str:
    """The scoreboard in Markdown, to stand beside the pages of the figures."""
    known = groups(papers)
    return joined(
        [
            WRITTEN,
            "# Results, claim by claim",
            "Clearway recomputes what five papers claim and judges each claim by [one rule](../verdicts.md). A paper's "
            "page says in a minute what holds and what does not, with ten claims as pictures and all of them as cards.",
            table_md(*summary(known, images)),
            f"![{pictures.bar_words(known[ALL][1].bar)}]({images}/verdicts-{ALL}.svg)",
            "A claim is *tested* if a simulation tests it, and counts once if it stands twice. *Hold* is the share of "
            "these that are reproduced, in number or trend, by default or under a named reading; a table counts by the "
            "share of its cells. The rest follows by arithmetic, is an input of our runs, contradicts its own paper, "
            "or is about hardware.",
            "## Verdicts",
            table_md(*turned(known, "verdict", (*VERDICTS, NO_VERDICT), by_verdict)),
            "## Sizes",
            "Verdicts that count are of simulations of the paper's size. A claim that was run below it shows its share "
            "of that size on its card. Each tested claim is counted once.",
            table_md(*turned(known, "run at", SIZES, lambda one: one.scales)),
            "## Causes",
            "Each tested claim that does not hold has a cause, [known in one of these ways](../verdicts.md); `not "
            "isolated` means that no single change explains it yet.",
            table_md(*turned(known, "cause", KINDS, lambda one: Counter(one.causes))),
            "## More",
            f"* [All claims in one table]({LONG}.md), with tolerance, seeds and command.\n"
            "* [How a claim is judged](../verdicts.md), and the [readings](../project/readings.md) of what papers "
            "leave open.\n" + "\n".join(f"* {link}" for link in others(figures, folder)),
            "**Next:** [how a claim is judged](../verdicts.md), or [reproduce a "
            "figure](../how-to/reproduce-a-figure.md).",
        ]
    )


def summary(known: Mapping[str, tuple[str, Counted]], images: str) -> tuple[list[str], list[list[str]]]:
    """A row for each paper and one for all: its claims, those that are tested, the share that holds, and the bar."""
    rows = []
    for name, (called, counted) in known.items():
        link = called if name == ALL else f"[{called}]({name}.md)"
        bar = f"![{pictures.bar_words(counted.bar)}]({images}/bar-{name}.svg)"
        numbers = [len(counted.scores), len(counted.tested)]
        rows.append([link, *map(str, numbers), share_text(counted), bar])
    return ["paper", "claims", "tested", "hold", "by verdict"], rows


def turned(
    known: Mapping[str, tuple[str, Counted]], what: str, names: Sequence[str], count: Callable[[Counted], Counter[str]]
) -> tuple[list[str], list[list[str]]]:
    """A table with a row for each name that is counted, and a column for each paper and one for all."""
    head = [what, *(short(called) for called, _ in known.values())]
    numbers = [count(counted) for _, counted in known.values()]
    return head, [[name, *(str(found[name]) for found in numbers)] for name in names]


def short(called: str) -> str:
    """The name of a paper in the head of a column."""
    return called.replace("SIGCOMM 2017", "'17").replace("HotNets 2016", "'16").replace(",", "")


def by_verdict(counted: Counted) -> Counter[str]:
    """The number of claims with each verdict, those that stand twice included, as in the table of all claims."""
    found = scoreboard.counts(counted.scores)
    found[NO_VERDICT] = found.pop("none", 0)
    return found


def others(figures: Mapping[str, Figure], folder: Path) -> list[str]:
    """Links to figures that belong to no paper, and to pages written by hand."""
    links = [f"[{one.title}]({one.slug}.md)" for one in figures.values() if one.paper not in PAPERS]
    written = {*(one.slug for one in figures.values()), *PAPERS, LONG, "README"}
    by_hand = [path for path in sorted(folder.parent.glob("*.md")) if path.stem not in written]
    return links + [f"[{title(path)}]({path.name})" for path in by_hand]


def title(page: Path) -> str:
    """The first heading of a page."""
    lines = page.read_text("utf-8").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), page.stem)


def all_claims(of: Sequence[Score], figures: Mapping[str, Figure]) -> str:
    """The page of all claims: a row for each, with its tolerance, seeds, size and command."""
    parts = [
        WRITTEN,
        "# All claims of the papers in one table",
        "Each row compares one claim of a paper with what Clearway measures, and the command in the row computes it "
        "again. [The rule](../verdicts.md) says what each verdict means; the [readings](../project/readings.md) and "
        "the [glossary](../project/glossary.md) explain ids and terms. The column *size* has the scale at which a "
        "claim was run, and which share of the paper's size its largest simulation has, by the bytes that applications "
        "send.",
    ]
    head = ["claim", "paper says", "measured", "reading", "tolerance", "seeds", "size", "verdict", "command"]
    for name, called in PAPERS.items():
        rows = [scoreboard.line(one, figures) for one in of if one.paper == name]
        parts += [f"## {called}", table_md(head, rows)]
    return joined([*parts, "**Next:** the [scoreboard](README.md), which has these claims counted and by paper."])
