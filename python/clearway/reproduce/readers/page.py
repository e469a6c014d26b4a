"""The page of a paper for readers: a verdict in words, ten claims as pictures, all claims as cards."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from clearway.reproduce import scoreboard
from clearway.reproduce.causes import KINDS
from clearway.reproduce.figure import Figure
from clearway.reproduce.readers import cards, pictures
from clearway.reproduce.readers.model import Counted, Paper, Part
from clearway.reproduce.scoreboard import GOOD

#: The line at the top of each page that says who writes it.
WRITTEN = "<!-- Written by `clearway reproduce --docs` from the records in docs/results/data. -->"
#: The most causes that the verdict in words names.
CAUSES = 3


def page(paper: Paper, figures: Mapping[str, Figure], images: str) -> str:
    """The page in Markdown, to stand beside those of the figures; `images` is the way from there to the pictures."""
    head = [WRITTEN, f"# {paper.called}: what Clearway reproduces"]
    if not paper.reproduced:
        return joined([*head, nothing(paper), following()])
    return joined(
        [
            *head,
            verdict(paper),
            counts_md(paper.counted, f"{images}/verdicts-{paper.name}.svg"),
            causes_md(paper),
            "## Ten claims in pictures",
            "The diamond is the number or limit that the paper prints. The dot is what Clearway measures, with its "
            "95 % interval over seeds. The green range is where the claim holds: the paper's number with the tolerance "
            "that was fixed before anything was measured, or the limits that its words set.",
            headlines_md(paper, figures, images),
            "## All claims, figure by figure",
            "A card has a claim in words, what the paper says, what was measured, and the verdict of [one "
            "rule](../verdicts.md). The labels name the size of the largest simulation (`quick, 1/170` sends a 170th "
            "of the paper's bytes), how the cause is known, and the [reading](../project/readings.md) if it is not the "
            "default.",
            *figures_md(paper, figures),
            others_md(paper, figures),
            following(),
        ]
    )


def joined(parts: list[str]) -> str:
    """Parts of a page as its text."""
    return "\n\n".join(part for part in parts if part) + "\n"


def nothing(paper: Paper) -> str:
    """The text of a page of a paper of which nothing was run."""
    return (
        f"{paper.frame.promise}\n\nNo figure of this paper has been reproduced here yet, so that none of its "
        f"{len(paper.scores)} claims has a verdict. `clearway reproduce {paper.name} --docs docs` runs its figures and "
        "writes this page anew."
    )


def following() -> str:
    """The line that says where to read on."""
    return (
        "**Next:** the [scoreboard](README.md) has all papers side by side, [how a claim is judged](../verdicts.md) "
        "has the rule, and [reproduce a figure](../how-to/reproduce-a-figure.md) shows how to check one."
    )


def verdict(paper: Paper) -> str:
    """A paragraph: what the system promises, what holds, what fails and why."""
    counted, parts = paper.counted, paper.parts
    said = [f"{paper.frame.promise} {share_words(counted)}"]
    groups = [
        ("All claims hold on", [one for one in parts if one.holding == len(one.scores)]),
        ("Most hold on", [one for one in parts if len(one.scores) / 2 < one.holding < len(one.scores)]),
        ("Half or fewer hold on", [one for one in parts if 0 < one.holding <= len(one.scores) / 2]),
        ("None holds on", [one for one in parts if one.holding == 0]),
    ]
    said += [f"**{words}** {listed(group)}." for words, group in groups if group]
    return " ".join([*said, causes_words(counted)]).strip()


def share_words(counted: Counted) -> str:
    """The number of claims that are tested, and the share of them that holds."""
    tested = len(counted.tested)
    if not tested:
        return "No simulation has tested a claim of it yet."
    return f"Simulations test {tested} of its claims, and {share_text(counted)} hold."


def share_text(counted: Counted) -> str:
    """The share that holds of the claims that a simulation tests."""
    return "-" if math.isnan(counted.share) else f"{100 * counted.share:.0f} %"


def listed(parts: list[Part]) -> str:
    """Topics with the claims of them that hold."""
    return "; ".join(f"{one.topic.says} ({one.holding} of {len(one.scores)})" for one in parts)


def causes_words(counted: Counted) -> str:
    """The number of claims that do not hold, and of those of them that have a cause."""
    failing = len(counted.tested) - counted.holding
    if not failing:
        return ""
    known = failing - counted.causes["not isolated"]
    return f"Of the {failing} claims that fail or stay open, {known or 'none'} {verb(known)} a cause that is known."


def verb(count: int) -> str:
    """The verb of so many subjects; that of none is that of one."""
    return "have" if count > 1 else "has"


def causes_md(paper: Paper) -> str:
    """A few causes with the claims that they explain: headlines first, then those with the strongest evidence."""
    titles = {one.headline.id: one.headline.title for one in paper.headlines}
    failing = [(one, found) for one in paper.counted.once if (found := scoreboard.cause(one)) and found.says]
    failing.sort(key=lambda pair: (pair[0].claim.id not in titles, KINDS.index(pair[1].kind)))
    named: dict[str, str] = {}
    for one, why in failing:
        named.setdefault(first_sentence(why.says), titles.get(one.claim.id, one.claim.what))
    lines = [f"* *{cards.plain(what.rstrip('.'))}*: {cards.plain(says)}" for says, what in named.items()]
    return "Why claims fail, for example:\n\n" + "\n".join(lines[:CAUSES]) if lines else ""


def first_sentence(text: str) -> str:
    """The first sentence of a cause, which names it; the rest stands in the card."""
    return cards.sentence(text.partition(" With that change alone:")[0].partition(". ")[0].strip())


def counts_md(counted: Counted, bar: str) -> str:
    """The two counts on top: claims that a simulation tests, as a bar, and the rest."""
    twice = len(counted.scores) - len(counted.once)
    rest = ", ".join(f"{name} {count}" for name, count in counted.rest.items())
    none = counted.by_verdict["none"]
    lines = [
        f"**{len(counted.tested)} claims that a simulation tests; {share_text(counted)} hold.** A table counts by the "
        "share of its cells.",
        f"![{pictures.bar_words(counted.bar)}]({bar})",
        f"**{sum(counted.rest.values())} claims that no simulation tests**{f': {rest}' if rest else ''}."
        + (f" {none} have no verdict yet." if none else "")
        + (f" Of claims that stand twice each counts once, which leaves out {twice}." if twice else ""),
    ]
    return "\n\n".join(lines)


def headlines_md(paper: Paper, figures: Mapping[str, Figure], images: str) -> str:
    """The headlines as cards."""
    found = []
    for number, one in enumerate(paper.headlines, 1):
        alt = re.sub(r"[\[\]]", "", pictures.about(one)) if one.marks else ""
        picture = f"![{alt}]({images}/{picture_name(paper.name, one.headline.id)})" if one.marks else ""
        found.append(cards.headline(one, number, picture, figures))
    return cards.cards(found, "headlines")


def picture_name(paper: str, claim: str) -> str:
    """The name of a headline's picture."""
    return f"headline-{paper}-{claim}.svg"


def figures_md(paper: Paper, figures: Mapping[str, Figure]) -> list[str]:
    """All claims as cards, below the figure that gave their verdict."""
    found = []
    for name, scores in paper.figures.items():
        title = figure_title(figures[name], paper.name) if name else "Not run yet"
        holding = sum(one.finding is not None and one.finding.verdict in GOOD for one in scores)
        tested = len(scoreboard.tested(scores))
        counts = f"{holding} of {tested} tested claims hold. " if tested else ""
        link = f"[The page of this figure]({figures[name].slug}.md) has pictures, numbers and reasons." if name else ""
        found += [f"### {title}", f"{counts}{link}".strip(), cards.cards([cards.card(one, figures) for one in scores])]
    return found


def others_md(paper: Paper, figures: Mapping[str, Figure]) -> str:
    """Links to the figures of the paper that give no verdict here: what they judge is worse, or equal, elsewhere."""
    found = [one for name, one in figures.items() if one.paper == paper.name and name not in paper.figures]
    links = "\n".join(f"* [{figure_title(one, paper.name)}]({one.slug}.md)" for one in found)
    return f"### Further figures\n\nThese judge claims whose verdicts stand above.\n\n{links}" if found else ""


def figure_title(figure: Figure, paper: str) -> str:
    """The title of a figure without the name of its paper, which stands on the page already."""
    if figure.paper != paper:
        return figure.title
    rest = re.sub(r"^[^,:]*[,:] ", "", figure.title)
    return rest[:1].upper() + rest[1:]
