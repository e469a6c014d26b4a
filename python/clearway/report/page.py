"""The page around the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from clearway import __version__, caveats, metrics, units
from clearway.assumptions import assumption_texts
from clearway.groups import Group, Sweep, group
from clearway.report import figures
from clearway.report.html import card, pair, picture, table
from clearway.report.style import Palette, drawing, variables
from clearway.result import Run
from clearway.scenario_warnings import of_run, scenario_warnings, swept_warnings
from clearway.texts import (
    fct_texts,
    network_texts,
    parts,
    parts_texts,
    sweep_texts,
    traffic_texts,
    warning_texts,
    words,
)
from clearway.window import window, window_texts


def page(runs: Sequence[Run], title: str, more: str = "", live: str = "") -> str:
    """The report of some runs as an HTML page; `more` is HTML that stands below them, `live` above."""
    groups = group(runs)
    palette = Palette(label for part in groups for label in labels(part))
    with drawing():
        sections = [
            sweep_section(part, palette) if isinstance(part, Sweep) else section(part, palette) for part in groups
        ]
    count = f"{len(runs)} simulations. " if runs else ""
    head = f"""<p class="muted">{count}Percentiles and means are over flows that completed; queues are
data waiting at an output port, the worst port of those meant; drops do not count credits, which are dropped by
design.</p>"""
    foot = """Each run can be made again, to the last bit, from its scenario and seed with the same version: compare the
hashes."""
    return shell(title, head + live + "".join(sections) + more, foot)


def shell(title: str, body: str, foot: str) -> str:
    """A page around a body: its style, both themes, a heading and a foot."""
    css = files("clearway.report").joinpath("page.css").read_text("utf-8")
    light, dark = f"--back:#f6f8fa;{variables(False)}", f"--back:#0d1117;{variables(True)}"
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{css}</style>
<main>
<h1>{escape(title)}</h1>
{body}
<footer>Made by Clearway {escape(__version__)}. {foot}</footer>
</main>
</html>
"""


def labels(part: Group | Sweep) -> list[str]:
    """The labels of a group's runs."""
    return list(part.lines if isinstance(part, Sweep) else part.runs)


def section(part: Group, palette: Palette) -> str:
    """Runs of one scenario side by side."""
    runs = part.runs
    known = caveats.of_runs(runs)
    blocks = warnings([*scenario_warnings(runs), *caveats.caveats(known), *warning_texts(runs)])
    if any(metrics.completed(run.flows).height for run in runs.values()):
        blocks += [
            card(table(fct_texts(runs), 2, palette)),
            pair(figures.fct_cdf(runs, palette), figures.slowdown_by_size(runs, palette)),
            *parts_cards(runs, palette),
        ]
    blocks += [card(table(network_texts(runs), 1, palette)), card(picture(figures.queues_by_tier(runs, palette)))]
    blocks += sampled_cards(runs, palette)
    said = [*covered(runs), *caveats.few_flows(known)]
    return f"<h2>{escape(part.title)}</h2>{assumptions(runs)}{muted(said)}{''.join(blocks)}{sources(runs)}"


def parts_cards(runs: Mapping[str, Run], palette: Palette) -> list[str]:
    """The traffic entries of a scenario that has several: a card of all, and one each with FCT by size."""
    if not parts(runs):
        return []
    by_size = [
        card(f"<strong>Traffic {escape(name)}</strong>{table(texts, 2, palette)}") for name, texts in parts_texts(runs)
    ]
    return [card(table(traffic_texts(runs), 2, palette)), *by_size]


def assumptions(runs: Mapping[str, Run]) -> str:
    """The assumptions of a comparison, shown above its tables."""
    return muted(assumption_texts(runs) if len(runs) > 1 else [])


def covered(runs: Mapping[str, Run]) -> list[str]:
    """The lines that say which time the tables cover, and the pictures if that is another one."""
    other = ["Pictures show the whole run."] if any(window(run).is_set for run in runs.values()) else []
    return [*window_texts(runs), *other]


def muted(lines: Sequence[str]) -> str:
    """Lines in small grey letters; nothing for none."""
    return f'<p class="muted">{"<br>".join(map(escape, lines))}</p>' if lines else ""


def warnings(texts: Sequence[str]) -> list[str]:
    """Warnings that must not be overlooked, a card each."""
    return [card(f'<p class="warning">{escape(text)}</p>') for text in texts]


def sampled_cards(runs: Mapping[str, Run], palette: Palette) -> list[str]:
    """The sampled series of some runs, a card each."""
    wanted = dict.fromkeys(
        row
        for run in runs.values()
        for row in run.samples.select("series", "quantity").unique(maintain_order=True).rows()
    )
    drawn = [(series, figures.sampled(runs, series, quantity, palette)) for series, quantity in wanted]
    return [card(f"<strong>{escape(series)}</strong>{picture(figure)}") for series, figure in drawn if figure]


def sweep_section(part: Sweep, palette: Palette) -> str:
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
    return (
        f"<h2>{escape(part.title)}: {escape(span)}</h2>"
        + assumptions(last)
        + muted(caveats.few_flows(known))
        + "".join(warnings([*on_scenarios, *caveats.caveats(known), *warning_texts(points)]))
        + pair(*drawn)
        + card(table(sweep_texts(part), 2, palette))
        + sampled_section(part, last, palette)
        + sources(last)
    )


def sampled_section(part: Sweep, last: Mapping[str, Run], palette: Palette) -> str:
    """The sampled series of the runs with the largest value of a sweep."""
    cards = "".join(sampled_cards(last, palette))
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
        parts.append(f"<details><summary>Scenario of {escape(label)}</summary><pre>{escape(text)}</pre></details>")
    return "".join(parts)
