"""The network of a run with its hot ports: links are the wider and redder the more data waited before them."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from html import escape

import polars as pl

from clearway import _clearway, metrics, units
from clearway.findings import LONGEST
from clearway.report.html import card, grid
from clearway.result import Run
from clearway.runner import load_scenario
from clearway.show import graph as graphs
from clearway.show.graph import Graph
from clearway.show.svg import Heat, draw

#: Runs of which the network is drawn; of more, the tables tell which port is the worst.
RUNS_MAX = 4
#: Ports with a label, and the least share of the longest queue of their run that a labelled one has.
LABELS, LABELLED = 3, 0.2
CAPTION = """Links are the wider and redder the more data waited, at the most, at the port that sends on them. All
pictures have one scale."""

#: The ports of a run with data that waited, the longest queue first.
Queues = list[tuple[str, int]]


def networks(runs: Mapping[str, Run]) -> str:
    """The network of each run, all in one scale; nothing for many runs, without queues, and where a file is gone."""
    queues = {label: queues_of(run) for label, run in runs.items()}
    most = max((found[0][1] for found in queues.values() if found), default=0)
    graphs = [graph_of(run.scenario, run.name) for run in runs.values()]
    if len(runs) > RUNS_MAX or not most or None in graphs:
        return ""
    named = {port for found in queues.values() for port, _ in labelled(found)}
    cards = [
        card(picture(label, graph, found, most, named))
        for (label, found), graph in zip(queues.items(), graphs, strict=True)
        if graph is not None
    ]
    return f'{grid(cards)}<p class="muted">{CAPTION}</p>'


def queues_of(run: Run) -> Queues:
    """The ports of switches at which data waited, the longest queue first."""
    column = LONGEST[bool(run.summary["measure"]["is_set"])]
    ports = metrics.switch_ports(run.ports).select("port", column).filter(pl.col(column) > 0)
    return ports.sort(column, "port", descending=[True, False]).rows()


def labelled(queues: Queues) -> Queues:
    """The ports that have a label: the worst of a run, and others that are not far from it."""
    return [one for one in queues[:LABELS] if one[1] >= LABELLED * queues[0][1]]


@functools.lru_cache(maxsize=8)
def graph_of(scenario: str, name: str) -> Graph | None:
    """The network of a resolved scenario; None if it names files that are not there any more."""
    try:
        return graphs.read(load_scenario(scenario), name)
    except (_clearway.Error, OSError):
        return None


def picture(label: str, graph: Graph, queues: Queues, most: int, named: set[str]) -> str:
    """The network of a run as an image, which has a style and a theme of its own. `named` ports are drawn apart."""
    number = {name: index for index, name in enumerate(graph.names)}
    texts = dict(labelled(queues))
    heat = Heat(apart={number[name] for port in named for name in port.split("->") if name in number})
    for port, waited in queues:
        a, _, b = port.partition("->")
        if a in number and b in number:
            label_text = units.size(waited) if port in texts else ""
            heat.add(number[a], number[b], waited / most, f"{port}: at most {units.size(waited)} waited", label_text)
    longest = f"at most {units.size(queues[0][1])} waited, at {queues[0][0]}" if queues else "no data waited"
    drawn = units.for_people(draw(graph, heat=heat, title=label, more=f"; {longest}"))
    data = base64.b64encode(drawn.encode()).decode()
    alt = f"The network under {label}: {longest}."
    return f'<div class="scroll" tabindex="0"><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"></div>'
