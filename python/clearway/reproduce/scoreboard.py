"""The scoreboard: every claim of every paper with its verdict, from the records of all figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from clearway.reproduce.causes import KINDS, Cause, CauseKind
from clearway.reproduce.claims import VERDICTS, Claim, Finding, Verdict, claims
from clearway.reproduce.figure import Figure
from clearway.reproduce.page import table_md
from clearway.reproduce.record import Record, load
from clearway.reproduce.rules import rule
from clearway.reproduce.scale import share_text

#: The papers, in the order of the scoreboard, with their titles.
PAPERS = {
    "expresspass": "ExpressPass, SIGCOMM 2017",
    "hotnets": "ExpressPass, HotNets 2016",
    "pac": "PAC",
    "ec4": "EC4",
    "pacc": "PACC",
}

#: Verdicts from the one that weighs most to the one that weighs least, where several figures judge one claim.
WEIGHT: tuple[Verdict, ...] = (
    "not reproduced", "undecidable", "contradicts itself", "holds under a reading", "trend reproduced", "reproduced",
    "arithmetic", "input", "not applicable",
)  # fmt: skip
#: Verdicts that count as success, of the claims that a simulation tests.
GOOD: tuple[Verdict, ...] = ("reproduced", "trend reproduced", "holds under a reading")
#: Verdicts on claims that no simulation tests.
UNTESTED: tuple[Verdict, ...] = ("contradicts itself", "arithmetic", "input", "not applicable")


@dataclass(frozen=True)
class Score:
    """A claim's row: the verdict that counts, and the figure that gave it."""

    paper: str
    claim: Claim
    finding: Finding | None
    figure: str
    #: The scale at which the figure was run, and the size of its largest simulation over that of the paper.
    scale: str = "quick"
    share: float = 1.0


def scores(figures: Mapping[str, Figure], folder: Path) -> list[Score]:
    """A row for each claim of the papers. Without a finding where no figure that judges it was reproduced yet."""
    records = {name: found for name, figure in figures.items() if (found := load(figure, folder)) is not None}
    return [score(paper, one, records) for paper in PAPERS for one in claims(paper).values()]


def score(paper: str, claim: Claim, records: Mapping[str, Record]) -> Score:
    """The worst verdict on a claim."""
    judged = [
        (row.finding(), name, kept)
        for name, kept in records.items()
        for row in kept.rows
        if row.paper == paper and row.claim == claim.id
    ]
    if not judged:
        return Score(paper, claim, None, "")
    finding, figure, kept = min(judged, key=lambda one: WEIGHT.index(one[0].verdict))
    return Score(paper, claim, finding, figure, kept.scale, kept.share)


def counts(of: Iterable[Score]) -> Counter[str]:
    """The number of claims by verdict; `none` for those without."""
    return Counter(one.finding.verdict if one.finding else "none" for one in of)


def once(of: Iterable[Score]) -> list[Score]:
    """The rows without those of claims that another row is the same as, which would be counted twice."""
    rows = list(of)
    names = {f"{one.paper}/{one.claim.id}" for one in rows}
    return [one for one in rows if rule(one.paper, one.claim.id).same_as not in names]


def tested(of: Iterable[Score]) -> list[Score]:
    """The rows of claims that a simulation tests."""
    return [one for one in of if one.finding and one.finding.verdict not in UNTESTED]


def credit(of: Score) -> float:
    """The part that a claim adds to the share that holds: of a table the share of its cells, of any other 1 or 0."""
    if of.finding is None:
        return 0.0
    inside, cells = of.finding.cells
    return inside / cells if cells > 1 else float(of.finding.verdict in GOOD)


def cause(of: Score) -> Cause | None:
    """The cause why a claim that a simulation tests does not hold, which older records lack; None where it holds."""
    if of.finding is None or of.finding.verdict in (*GOOD, *UNTESTED):
        return None
    return of.finding.cause or Cause("not isolated")


def causes(of: Iterable[Score]) -> Counter[CauseKind]:
    """The number of claims that a simulation tests and that do not hold, by the kind of their cause; each once."""
    return Counter(found.kind for one in once(of) if (found := cause(one)))


def share(of: Iterable[Score]) -> float:
    """The share that holds of the claims that a simulation tests; each claim counts once, a table by its cells."""
    rows = tested(once(of))
    return sum(map(credit, rows)) / len(rows) if rows else float("nan")


def summary_texts(of: list[Score]) -> tuple[list[str], list[list[str]]]:
    """A row for each paper and one for all: how many claims got each verdict, and the share that holds."""
    head = ["paper", "claims", *VERDICTS, "no row", "counted once", "tested by simulation", "of these hold"]
    rows = []
    for name, called in [*PAPERS.items(), ("all", "all")]:
        part = [one for one in of if name in ("all", one.paper)]
        found = counts(part)
        numbers = [len(part), *(found[verdict] for verdict in VERDICTS), found["none"], len(once(part))]
        rows.append([called, *map(str, numbers), str(len(tested(once(part)))), f"{100 * share(part):.0f} %"])
    return head, rows


def cause_texts(of: list[Score]) -> tuple[list[str], list[list[str]]]:
    """A row for each paper and one for all: how many of the claims that do not hold have which kind of cause."""
    rows = []
    for name, called in [*PAPERS.items(), ("all", "all")]:
        found = causes(one for one in of if name in ("all", one.paper))
        rows.append([called, str(found.total()), *(str(found[kind]) for kind in KINDS)])
    return ["paper", "tested and not holding", *KINDS], rows


def page(of: list[Score], figures: Mapping[str, Figure], folder: Path) -> str:
    """The scoreboard in Markdown, to stand beside the pages of the figures."""
    parts = [
        "<!-- Written by `clearway reproduce --docs`. Change python/clearway/reproduce instead. -->",
        "# Results, claim by claim",
        "Each row compares one claim of a paper with what Clearway measures, and the command in the row computes it "
        "again. [The rule](../verdicts.md) says what each verdict means; the [readings](../readings.md) and the "
        "[glossary](../glossary.md) explain ids and terms. `clearway reproduce` computes all claims. The column *size* "
        "has the scale at which a claim was run, and which share of the paper's size its largest simulation has, by "
        "the bytes that applications send.",
        table_md(*summary_texts(of)),
        "Each claim that does not hold has a cause, which is known in one of these ways; `not isolated` means that no "
        "single change explains it yet.",
        table_md(*cause_texts(of)),
        "Other pages: " + ", ".join(others(figures, folder)) + ".",
    ]
    for name, called in PAPERS.items():
        head = ["claim", "paper says", "measured", "reading", "tolerance", "seeds", "size", "verdict", "command"]
        parts += [f"## {called}", table_md(head, [line(one, figures) for one in of if one.paper == name])]
    return "\n\n".join(parts) + "\n"


def html(of: list[Score], figures: Mapping[str, Figure]) -> str:
    """The scoreboard as the body of an HTML page: counts by paper, then a table for each."""
    parts = [f'<div class="card">{table_html(*summary_texts(of), words=1)}</div>']
    for name, called in PAPERS.items():
        head = ["claim", "paper says", "measured", "tolerance", "seeds", "size", "verdict", "command"]
        rows = []
        for one in (one for one in of if one.paper == name):
            where, says, measured, _, tolerance, seeds, size, verdict, _ = line(one, figures)
            texts = [
                where,
                says,
                measured,
                tolerance,
                seeds,
                size,
                verdict,
                one.figure and f"clearway reproduce {one.figure}",
            ]
            rows.append([text.replace("`", "").replace("**", "") for text in texts])
        parts.append(f'<h2>{escape(called)}</h2><div class="card">{table_html(head, rows, words=len(head))}</div>')
    return "".join(parts)


def table_html(head: list[str], rows: list[list[str]], words: int) -> str:
    """A table whose first `words` columns are words."""
    kind = [' class="word"' if index < words else "" for index in range(len(head))]
    top = "".join(f"<th{kind[i]}>{escape(text)}</th>" for i, text in enumerate(head))
    body = "".join(
        f"<tr>{''.join(f'<td{kind[i]}>{escape(text)}</td>' for i, text in enumerate(row))}</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def line(of: Score, figures: Mapping[str, Figure]) -> list[str]:
    """A claim's row in Markdown."""
    claim, finding = of.claim, of.finding
    says = claim.text if claim.text != f"({claim.kind})" else f"{claim.what.split('. ')[0].rstrip('.')} ({claim.kind})"
    if finding is None:
        return [f"`{claim.id}` ({claim.source})", says, "-", "-", claim.tolerance_text, "-", "-", "**none**", "-"]
    verdict = f"**{finding.verdict}**" if finding.verdict == "not reproduced" else finding.verdict
    remark = "" if finding.verdict in (*GOOD[:2], "not reproduced", "arithmetic") else finding.note
    remark = "; ".join(text for text in (remark, finding.cause.text if finding.cause else "") if text)
    measured = finding.measured if not remark else f"{finding.measured} ({remark})".removeprefix("- ")
    command = f"[`reproduce {of.figure}`]({figures[of.figure].slug}.md)"
    seeds = str(finding.seeds) if finding.seeds > 1 else "-"
    inside, cells = finding.cells
    verdict = f"{verdict} ({inside} of {cells})" if cells > 1 else verdict
    same = rule(of.paper, claim.id).same_as
    where = f"`{claim.id}` ({claim.source})" + (f", the same claim as `{same}`" if same else "")
    return [where, says, measured, finding.reading, claim.tolerance_text, seeds, size_of(of), verdict, command]


def size_of(of: Score) -> str:
    """The scale of a row and its share of the paper's size: `quick, 1/67`; `-` where no simulation tests the claim."""
    if of.finding is None or of.finding.verdict in UNTESTED:
        return "-"
    return of.scale if 0.95 <= of.share <= 1.05 else f"{of.scale}, {share_text(of.share).split()[0]}"


def others(figures: Mapping[str, Figure], folder: Path) -> list[str]:
    """Links to figures that belong to no paper, and to pages written by hand."""
    links = [f"[{one.title}]({one.slug}.md)" for one in figures.values() if one.paper not in PAPERS]
    slugs = {one.slug for one in figures.values()}
    by_hand = [path for path in sorted(folder.parent.glob("*.md")) if path.stem not in {*slugs, "README"}]
    return links + [f"[{title(path)}]({path.name})" for path in by_hand]


def title(page: Path) -> str:
    """The first heading of a page."""
    lines = page.read_text("utf-8").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), page.stem)
