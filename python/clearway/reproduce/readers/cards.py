"""Cards of claims in Markdown, with the few tags of HTML that GitHub shows and the site colours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from clearway.reproduce import scoreboard
from clearway.reproduce.claims import Finding
from clearway.reproduce.figure import Figure
from clearway.reproduce.readers.model import Shown
from clearway.reproduce.rules import rule
from clearway.reproduce.scoreboard import GOOD, UNTESTED, Score, size_of

#: The most letters of what was measured that a card shows; the figure's page has the rest.
LONGEST = 190
#: Tables of more numbers than this are shown as the count of those that agree.
CELLS = 6
#: Readings that a card does not name, since they are no reading of a transport.
NO_READING = ("default", "-", "by calculation", "")


@dataclass(frozen=True)
class Chip:
    """A short label of a card."""

    text: str
    #: The kind of label, which the site colours: `holds`, `fails`, `open`, `rest`, or nothing.
    kind: str = ""

    @property
    def md(self) -> str:
        """The label as code, which looks like a label on GitHub too."""
        return f'<code class="chip {self.kind}">{escape(self.text)}</code>'.replace(' ">', '">')


def state(of: Score) -> str:
    """The kind of a verdict: whether a claim holds, fails, is open, or is not tested."""
    if of.finding is None or of.finding.verdict in UNTESTED:
        return "rest"
    if of.finding.verdict in GOOD:
        return "holds"
    return "open" if of.finding.verdict == "undecidable" else "fails"


def chips(of: Score) -> list[Chip]:
    """The labels of a card: verdict, size, kind of cause, reading."""
    if of.finding is None:
        return [Chip("no verdict yet", "rest")]
    inside, cells = of.finding.cells
    share = f", {inside} of {cells}" if cells > 1 else ""
    found = [Chip(f"{of.finding.verdict}{share}", state(of))]
    if (size := size_of(of)) != "-":
        found.append(Chip("paper's size" if size == "paper" else size))
    if cause := scoreboard.cause(of):
        found.append(Chip(f"cause: {cause.kind}"))
    if of.finding.reading not in NO_READING:
        found.append(Chip(f"reading: {of.finding.reading}"))
    return found


def chips_md(of: Score) -> str:
    """The labels of a card, side by side."""
    return " ".join(chip.md for chip in chips(of))


def card(of: Score, figures: Mapping[str, Figure]) -> str:
    """A claim: in words, what the paper says, what was measured, why it does not hold, and where more is said."""
    lines = [f"**{plain(of.claim.what)}**", chips_md(of)]
    points = [f"* {says}"] if (says := paper_says(of)) else []
    if of.finding and of.finding.measured != "-":
        points.append(f"* Clearway: {plain(measured(of.finding))}")
    if because := why(of):
        points.append(f"* Why: {plain(because)}")
    if same := rule(of.paper, of.claim.id).same_as:
        points.append(f"* The same claim as `{same}`; the two count once.")
    return boxed([*lines, "\n".join(points), more(of, figures)], state(of))


def boxed(parts: list[str], kind: str) -> str:
    """A card around parts of Markdown; GitHub shows the parts alone."""
    inside = "\n\n".join(part for part in parts if part)
    return f'<div class="card {kind}">\n\n{inside}\n\n</div>'


def cards(of: list[str], kind: str = "") -> str:
    """Cards side by side, as many as there is room for."""
    inside = "\n\n".join(of)
    return f'<div class="{f"cards {kind}".strip()}">\n\n{inside}\n\n</div>'


def more(of: Score, figures: Mapping[str, Figure]) -> str:
    """The line at the foot of a card: its place in the paper, its id, and a link to the page of its figure."""
    link = f"[how it was measured]({figures[of.figure].slug}.md)" if of.figure else "not run yet"
    return f"{of.claim.source}, `{of.claim.id}`: {link}"


def headline(shown: Shown, number: int, picture: str, figures: Mapping[str, Figure]) -> str:
    """A headline: its title, its picture or the numbers in words, and a line of cause."""
    of = shown.score
    lines = [f"**{number}. {plain(shown.headline.title)}**", chips_md(of)]
    if picture:
        lines.append(picture)
    elif of.finding:
        lines.append(f"* {paper_says(of)}\n* Clearway: {plain(measured(of.finding))}")
    link = f"[More]({figures[of.figure].slug}.md)" if of.figure else ""
    return boxed([*lines, f"{plain(why(of))} {link}".strip()], state(of))


def paper_says(of: Score) -> str:
    """The paper's number or, for a trend, the conditions that it was held against."""
    text = of.claim.text
    if text == "(a table)":
        return f"Paper: a table of {len(of.claim.cases)} numbers"
    if text != f"({of.claim.kind})":
        return plain(f"Paper: {text if len(of.claim.cases) <= CELLS else f'{len(of.claim.cases)} numbers'}")
    conditions = [one.says for one in rule(of.paper, of.claim.id).conditions]
    return plain(f"Must hold: {'; '.join(conditions)}") if conditions else "Paper: no number"


def measured(finding: Finding) -> str:
    """The measured numbers, as short as a card needs them."""
    inside, cells = finding.cells
    if cells > CELLS:
        return f"{inside} of {cells} numbers are within {finding.claim.tolerance_text}"
    if len(finding.claim.cases) > CELLS:
        return f"{len(finding.claim.cases)} numbers, on the figure's page"
    return shortened(finding.measured)


def shortened(text: str) -> str:
    """A text that ends at a comma or semicolon before it is too long."""
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(mark, 0, LONGEST) for mark in ("; ", ", "))
    return f"{text[: end if end > 0 else LONGEST]}, and more"


def why(of: Score) -> str:
    """The reason for a verdict that is not plain success: the cause, or which conditions fail, or the note."""
    finding = of.finding
    if finding is None or finding.verdict in ("reproduced", "arithmetic"):
        return ""
    if finding.verdict == "trend reproduced":
        return "The trend holds; the number lies outside of its tolerance."
    cause = scoreboard.cause(of)
    if cause and cause.says:
        return sentence(cause.says)
    failing = [one.says for one in rule(of.paper, of.claim.id).conditions if one.says in finding.note]
    if finding.verdict == "not reproduced":
        said = (
            f"It does not hold that {'; that '.join(failing)}." if failing else "The number is outside its tolerance."
        )
        return f"{said} No cause is isolated."
    if finding.verdict == "undecidable" and failing:
        return f"The intervals over seeds leave open whether {'; whether '.join(failing)}."
    return sentence(first(finding.note) if finding.verdict == "undecidable" else shortened(finding.note))


def sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop at its end."""
    capital = text if text.startswith("`") else text[:1].upper() + text[1:]
    return capital if not text or text.endswith((".", "!", "?")) else f"{capital}."


def first(text: str) -> str:
    """The first remark of several."""
    return shortened(text.partition("; ")[0])


def plain(text: str) -> str:
    """A text as Markdown that shows it as it is, with a capital at its beginning and code left as code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"([\\*_<>\[\]|])", r"\\\1", parts[number])
    return "".join(parts)
