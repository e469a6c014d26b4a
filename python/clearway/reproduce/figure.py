"""Figures: the parts that one is made of.

A figure is a module of `clearway.reproduce.<paper>` that ends with `FIGURE = Figure(...)`; that line is its whole
registration. Its docstring says what the paper did, what it leaves open, and what was chosen there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway._clearway import Error
from clearway.reproduce.claims import Finding
from clearway.reproduce.look import Look
from clearway.reproduce.stats import Estimate
from clearway.result import Run

#: name -> data frame.
Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Job:
    """One simulation of a figure."""

    #: Parameters that tell this simulation apart from the figure's others: columns of its rows.
    params: Mapping[str, Any]
    #: The scenario, as a dict of the schema of `docs/reference/scenario.md`.
    scenario: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name of this simulation in the progress bar and in records."""
        return ", ".join(f"{key} {value}" for key, value in self.params.items())


def no_jobs_at(_: float) -> list[Job]:
    """The simulations of a figure that has no smaller sizes; it is never called."""
    return []


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, or a claim in its text, that one command reproduces."""

    #: Name of the figure, as `paper/figure`.
    name: str
    title: str
    #: Account of what the paper did, what it leaves open, what was chosen: Markdown, usually the module's docstring.
    doc: str
    #: The simulations at a scale: `quick`, or `paper` at the paper's size. `clearway.reproduce.scale` makes those of
    #: `full` from them.
    jobs: Callable[[str], list[Job]]
    #: Function that measures a run, in another process; its tables are kept. Its code and all code of this package that
    #: it uses are part of the key under which they are.
    measure: Callable[[Job, Run], Tables]
    #: Findings on the claims, from the tables.
    check: Callable[[Tables], list[Finding]]
    #: name -> picture.
    draw: Callable[[Tables, Look], dict[str, Picture]]
    #: Function from the tables of all runs to those that checks, pictures and files show.
    summarise: Callable[[Tables], Tables] = lambda tables: tables
    #: Tables that the page shows, in order, with a caption each.
    shown: Mapping[str, str] = field(default_factory=dict)
    #: Captions of the pictures.
    captions: Mapping[str, str] = field(default_factory=dict)
    #: Ids of the claims that this figure is there for. `check` may judge others as further evidence: where several
    #: figures judge one claim, the worst verdict counts.
    claims: tuple[str, ...] = ()
    #: Numbers that the prose names: `{ratio}` in the Markdown file beside the module is `facts(tables)["ratio"]`.
    facts: Callable[[Tables], Mapping[str, object]] = lambda _: {}
    #: The simulations at a smaller size than the paper's, for a figure that would take more than an hour at that.
    at: Callable[[float], list[Job]] = no_jobs_at
    #: Sizes, from small to large, at which the scale `paper` runs such a figure: the last decides, the others show
    #: where the numbers lead. None for a figure that runs at the paper's size.
    sizes: tuple[float, ...] = ()
    #: Runs that must not share the machine: their CPU time and memory are the result.
    alone: bool = False

    def prose(self, tables: Tables) -> str:
        """The prose of the page (what agrees, what does not, and why), its numbers filled in from the tables."""
        facts = {name: Text(value) for name, value in self.facts(tables).items()}
        try:
            return self.template.format_map(facts)
        except (KeyError, IndexError, ValueError) as error:
            known = ", ".join(sorted(facts)) or "no facts"
            raise Error(f"the prose of {self.name}: {error}; its figure knows {known}") from None

    @property
    def template(self) -> str:
        """The figure's prose with names in braces for its numbers: the Markdown file beside its module, if any."""
        path = Path(str(sys.modules[self.check.__module__].__file__)).with_suffix(".md")
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def paper(self) -> str:
        """The paper's name, which is that of its file of claims."""
        return self.name.partition("/")[0]

    @property
    def slug(self) -> str:
        """The name of the figure in names of files."""
        return self.name.replace("/", "-")


def no_jobs(_: str) -> list[Job]:
    """The simulations of a figure that needs none."""
    return []


def no_measure(_: Job, __: Run) -> Tables:
    """The measurement of a figure without simulations; it is never called."""
    return {}


class Text:
    """A fact of a figure, as prose shows it: `{used}` with three significant digits, `{used:.1f}` as asked."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __format__(self, form: str) -> str:
        if isinstance(self.value, float | Estimate):
            return format(self.value, form or ".3g")
        return format(self.value, form)


@dataclass(frozen=True)
class Reproduction:
    """A figure that was run."""

    figure: Figure
    scale: str
    tables: Tables
    findings: list[Finding]
    #: Simulations, and how many of them were there already.
    runs: int
    cached: int
    #: CPU seconds of all simulations, those of an earlier day included.
    cpu_s: float
    #: The hash of each simulation, by its label, and the CPU seconds that it took.
    hashes: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    #: Files that were written.
    files: list[Path] = field(default_factory=list)
    #: The size of its largest simulation over that at the paper's size.
    share: float = 1.0
    #: The findings at smaller sizes, each with its share of the paper's size, from small to large.
    smaller: tuple[tuple[float, list[Finding]], ...] = ()
