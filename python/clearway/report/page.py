"""The page around the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from clearway import caveats, metrics, units
from clearway._clearway import __version__
from clearway.assumptions import assumption_texts
from clearway.findings import findings, variation_findings
from clearway.groups import Group, Variation, group
from clearway.report import figures
from clearway.report.html import card, folded, found, grid, pair, picture, table
from clearway.report.network import networks
from clearway.report.style import Palette, drawing, variables
from clearway.result import Run
from clearway.scenario_warnings import of_run, scenario_warnings, swept_warnings
from clearway.texts import (
    fct_texts,
    network_texts,
    parts,
    parts_texts,
    traffic_texts,
    variation_texts,
    warning_texts,
    words,
)
from clearway.window import window, window_texts

#: Labels and scenarios that a title names at the most.
NAMED, TITLED = 4, 2
#: The rules by which numbers are to be read, at the end of a page.
NOTES = """Percentiles and means are over flows that completed. Queues are data waiting at an output port, the worst
port of those meant. Drops do not count credits, which are dropped by design. Each run can be made again, to the last
bit, from its scenario and seed with the same version: compare the hashes."""


def page(runs: Sequence[Run], title: str | None = None, more: str = "", live: str = "") -> str:
    """The report of some runs as an HTML page; `more` is HTML that stands below them, `live` above.

    Without a title, the scenarios and transports are one.
    """
    groups = group(runs)
    palette = Palette(label for part in groups for label in labels(part))
    with drawing():
        sections = [
            variation_section(part, palette)
            if isinstance(part, Variation)
            else section(part, palette, f"<h2>{escape(part.title)}</h2>" if len(groups) > 1 or title or more else "")
            for part in groups
        ]
    return shell(title or heading(groups), live + "".join(sections) + more, NOTES)


def heading(groups: Sequence[Group | Variation]) -> str:
    """The scenarios of a page with their transports: `incast: dctcp and expresspass`."""
    told = []
    for part in groups:
        names = list(dict.fromkeys(labels(part)))
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        told.append(f"{part.title}: {listed}" if len(names) <= NAMED else f"{part.title}: {len(names)} runs")
    return "; ".join(told) if 0 < len(told) <= TITLED else "Clearway report"


def shell(title: str, body: str, foot: str) -> str:
    """A page around a body: its style, both themes, a heading and a foot."""
    css = files("clearway.report").joinpath("page.css").read_text("utf-8")
    light = f"--back:#f6f8fa;--link:#0b57d0;{variables(False)}"
    dark = f"--back:#0d1117;--link:#79b8ff;{variables(True)}"
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{css}</style>
<main>
<h1>{escape(title)}</h1>
{body}
<footer>Made by Clearway {escape(__version__)}. {foot}</footer>
</main>
</html>
"""


def labels(part: Group | Variation) -> list[str]:
    """The labels of a group's runs."""
    return list(part.lines if isinstance(part, Variation) else part.runs)


def section(part: Group, palette: Palette, title: str = "") -> str:
    """Runs of one scenario side by side: findings, the network, pictures, and tables that fold. `title` is HTML."""
    runs = part.runs
    known = caveats.of_runs(runs)
    warnings = [*scenario_warnings(runs), *caveats.caveats(known), *warning_texts(runs)]
    has_times = any(metrics.completed(run.flows).height for run in runs.values())
    drawn = [*sampled_cards(runs, palette), card(picture(figures.queues_by_tier(runs, palette)))]
    tables = []
    if has_times:
        drawn += [
            card(picture(figures.fct_cdf(runs, palette))),
            card(picture(figures.slowdown_by_size(runs, palette))),
        ]
        tables.append(folded("Completion times by size", card(table(fct_texts(runs), 2, palette)), is_open=True))
    tables += parts_tables(runs, palette)
    tables.append(folded("Network, losses and cost of the runs", card(table(network_texts(runs), 1, palette))))
    assumed = [*(assumption_texts(runs) if len(runs) > 1 else []), *covered(runs), *caveats.few_flows(known)]
    tables.append(folded("What is assumed, and which time counts", card(muted(assumed))))
    return (
        f"<section>{title}{found(findings(runs), warnings)}{networks(runs)}"
        f"{grid(drawn)}{''.join(tables)}{sources(runs)}</section>"
    )


def parts_tables(runs: Mapping[str, Run], palette: Palette) -> list[str]:
    """The traffic entries of a scenario that has several: a table of all, and one each with FCT by size."""
    if not parts(runs):
        return []
    by_size = [
        folded(f"Traffic {name}, completion times by size", card(table(texts, 2, palette)))
        for name, texts in parts_texts(runs)
    ]
    return [folded("By traffic entry", card(table(traffic_texts(runs), 2, palette)), is_open=True), *by_size]


def covered(runs: Mapping[str, Run]) -> list[str]:
    """The lines that say which time the tables cover, and the pictures if that is another one."""
    other = ["Pictures show the whole run."] if any(window(run).is_set for run in runs.values()) else []
    return [*window_texts(runs), *other]


def muted(lines: Sequence[str]) -> str:
    """Lines in small grey letters; nothing for none."""
    return f'<p class="muted">{"<br>".join(map(escape, lines))}</p>' if lines else ""


def sampled_cards(runs: Mapping[str, Run], palette: Palette) -> list[str]:
    """The sampled series of some runs, a card each."""
    wanted = dict.fromkeys(
        row
        for run in runs.values()
        for row in run.samples.select("series", "quantity").unique(maintain_order=True).rows()
    )
    drawn = [(series, figures.sampled(runs, series, quantity, palette)) for series, quantity in wanted]
    return [card(f"<strong>{escape(series)}</strong>{picture(figure)}") for series, figure in drawn if figure]


def variation_section(part: Variation, palette: Palette) -> str:
    """A sweep: its pictures, and a row a value."""
    measures = ("queue_max", "queue_mean", "fct_mean", "fct_p99")
    drawn = [figures.swept(part.lines, part.key, measure, palette, part.unit) for measure in measures]
    last = {label: line[-1][1] for label, line in part.lines.items()}
    span = (
        f"{words(part.key)} from {units.value(part.values[0], part.unit)} to {units.value(part.values[-1], part.unit)}"
    )
    points = {f"{label}, {units.value(x, part.unit)}": run for label, line in part.lines.items() for x, run in line}
    known = caveats.of_lines(part.lines)
    on_scenarios = swept_warnings((name, of_run(run)) for name, run in points.items())
    warnings = [*on_scenarios, *caveats.caveats(known), *warning_texts(points)]
    assumed = [*(assumption_texts(last) if len(last) > 1 else []), *caveats.few_flows(known)]
    return (
        f"<section><h2>{escape(part.title)}: {escape(span)}</h2>"
        + found(variation_findings(part), warnings)
        + pair(*drawn)
        + folded("All points", card(table(variation_texts(part), 2, palette)), is_open=True)
        + folded("What is assumed", card(muted(assumed)))
        + sampled_section(part, last, palette)
        + sources(last)
        + "</section>"
    )


def sampled_section(part: Variation, last: Mapping[str, Run], palette: Palette) -> str:
    """The sampled series of the runs with the largest value of a sweep."""
    cards = grid(sampled_cards(last, palette))
    return f"<h3>{escape(words(part.key))} {units.value(part.values[-1], part.unit)}</h3>{cards}" if cards else ""


def sources(runs: Mapping[str, Run]) -> str:
    """The origin of the numbers: seed, version, hash, and the whole scenario."""
    parts = []
    for label, run in runs.items():
        made = run.summary
        head = (
            f"seed {made['seed']}, Clearway {made['clearway']}, commit {made['commit'] or 'unknown'}, hash {run.hash}"
        )
        text = f"# {head}\n{run.scenario}"
        parts.append(folded(f"Scenario of {label}", f'<pre class="card" tabindex="0">{escape(text)}</pre>'))
    return "".join(parts)
