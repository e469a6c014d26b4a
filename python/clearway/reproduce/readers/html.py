"""The overview that `clearway reproduce` writes beside its results: the scoreboard as an HTML page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from clearway.reproduce import scoreboard
from clearway.reproduce.figure import Figure
from clearway.reproduce.readers import pictures
from clearway.reproduce.readers.board import groups
from clearway.reproduce.readers.model import Counted, Paper, papers
from clearway.reproduce.readers.page import share_text, verdict
from clearway.reproduce.scoreboard import Score, table_html

#: The columns of the table of a paper's claims.
HEAD = ["claim", "paper says", "measured", "tolerance", "seeds", "size", "verdict", "command"]


def body(of: Sequence[Score], figures: Mapping[str, Figure]) -> str:
    """The body of the page: papers side by side, then each with its verdict in words and a table of its claims."""
    known = papers(of)
    parts = [f'<div class="card">{summary(known)}</div>', f'<div class="card">{causes(of)}</div>']
    return "".join([*parts, *(section(one, figures) for one in known)])


def summary(known: Sequence[Paper]) -> str:
    """A row for each paper and one for all: how many claims are tested, the share that holds, and the bar."""
    rows = "".join(
        f'<tr><td class="word">{escape(called)}</td><td>{len(one.scores)}</td><td>{len(one.tested)}</td>'
        f'<td>{share_text(one)}</td><td class="word">{bar(one)}</td></tr>'
        for called, one in groups(known).values()
    )
    head = "<th>claims</th><th>tested</th><th>hold</th>"
    first, last = '<th class="word">paper</th>', '<th class="word">by verdict</th>'
    return f"<table><thead><tr>{first}{head}{last}</tr></thead><tbody>{rows}</tbody></table>"


def bar(counted: Counted) -> str:
    """A bar of verdicts, with its numbers in words."""
    words = pictures.bar_words(counted.bar)
    return f'<div style="width:170px">{pictures.inner_bar(counted.bar, words)}</div>{escape(words)}'


def causes(of: Sequence[Score]) -> str:
    """The table of causes of claims that do not hold."""
    return table_html(*scoreboard.cause_texts(list(of)), words=1)


def section(paper: Paper, figures: Mapping[str, Figure]) -> str:
    """A paper: its verdict in words and a table of its claims."""
    words = unmarked(verdict(paper)) if paper.reproduced else escape(paper.frame.promise)
    rows = [row(one, figures) for one in paper.scores]
    table = f'<div class="card">{table_html(HEAD, rows, words=len(HEAD))}</div>'
    return f"<h2>{escape(paper.called)}</h2><p>{words}</p>{table}"


def row(of: Score, figures: Mapping[str, Figure]) -> list[str]:
    """A claim's row."""
    where, says, measured, _, tolerance, seeds, size, found, _ = scoreboard.line(of, figures)
    texts = [where, says, measured, tolerance, seeds, size, found, of.figure and f"clearway reproduce {of.figure}"]
    return [text.replace("`", "").replace("**", "") for text in texts]


def unmarked(text: str) -> str:
    """Markdown of a paragraph as HTML: bold words, and backslashes that protect signs taken away."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    return re.sub(r"\\(.)", r"\1", bold).replace("`", "")
