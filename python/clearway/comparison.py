"""Comparisons: one scenario under several transports, and each run in a few numbers."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway import _clearway, caveats, examples, folder, hooks, metrics, tables
from clearway.assumptions import assumption_texts
from clearway.bars import ProgressCallback, progress_bar
from clearway.interrupt import Interrupted
from clearway.lazy import WhenUsed
from clearway.result import Run, fill
from clearway.runner import Settings, Source, load_scenario, watched
from clearway.scenario_warnings import scenario_warnings
from clearway.scratch import uninterrupted
from clearway.window import flows, in_window

if TYPE_CHECKING:
    import polars as pl

    from clearway.hooks import Pictures
    from clearway.view.notebook import View
else:
    pl = WhenUsed("polars")

#: Columns of flows that count credits, of which a headline is made.
CREDITS = ("credits_used", "credits_wasted", "repeated_signals")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs that differ in their transport alone."""

    #: transport -> run, in the order asked for.
    runs: dict[str, Run]
    #: The folder that it was written to, if it was.
    path: Path | None = None

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the comparison; the transports after that were not run."""
        return any(run.interrupted for run in self.runs.values())

    @property
    def cut_off(self) -> bool:
        """True if the results of some run are of a part of it (`Run.cut_off`)."""
        return any(run.cut_off for run in self.runs.values())

    @property
    def findings(self) -> list[str]:
        """The findings on the runs beside each other, in a few sentences: who is ahead, by how much, at what price."""
        return hooks.display().findings(self.runs)

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs, with a first column `run`: the transport asked for."""
        return self._joined("flows")

    @property
    def ports(self) -> pl.DataFrame:
        """The ports of all runs, with a first column `run`."""
        return self._joined("ports")

    @property
    def samples(self) -> pl.DataFrame:
        """The samples of all runs, with a first column `run`."""
        return self._joined("samples")

    @property
    def plot(self) -> Pictures:
        """Pictures of the runs side by side: `plot.fct()`, `.slowdown()`, `.queue()`, `.rates()`."""
        return hooks.display().pictures(self.runs)

    @property
    def assumptions(self) -> list[str]:
        """The assumptions of the runs besides congestion control, a line for the network and one for each transport."""
        return assumption_texts(self.runs)

    @property
    def warnings(self) -> list[str]:
        """Warnings that must be known before the runs are compared, a sentence each.

        They are on signals that can't occur, on transports outside of what they are made for or on unequal networks, on
        runs that ended before all flows were delivered, and on 99th percentiles of few flows.
        """
        known = caveats.of_runs(self.runs)
        return [*scenario_warnings(self.runs), *caveats.caveats(known), *caveats.few_flows(known)]

    def table(self) -> pl.DataFrame:
        """A row per transport: what `headline` says of its run."""
        return pl.DataFrame([{"run": name, **headline(run)} for name, run in self.runs.items()])

    def fct_by_size(self) -> pl.DataFrame:
        """FCT and slowdown by size bucket and transport, of the flows that start in the window of measurement if the
        scenario sets it; see `clearway.metrics.fct_by_size`.
        """
        return pl.concat(
            metrics.fct_by_size(flows(run, metrics.FCT)).select(pl.lit(name).alias("run"), pl.all())
            for name, run in self.runs.items()
        )

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the runs to `path`, each to a folder of its transport's name, all of them or none.

        What `path` may hold, and which folder is returned, is as for `Run.save`.
        """
        return save(self.runs, path, {name: run.scenario for name, run in self.runs.items()}, force=force)

    def _joined(self, table: str) -> pl.DataFrame:
        frames: dict[str, pl.DataFrame] = {name: getattr(run, table) for name, run in self.runs.items()}
        # A column that only some transports have is null for the others.
        joined = [frame.select(pl.lit(name).alias("run"), pl.all()) for name, frame in frames.items()]
        return pl.concat(joined, how="diagonal")

    def view(self, path: str | Path | None = None, *, height: int = 860) -> View:
        """Writes the live page with the first two runs side by side, and shows it in a notebook, as `Run.view` does."""
        from clearway.view.notebook import view

        return view([run.recorded() for run in list(self.runs.values())[:2]], path, height)

    def _repr_html_(self) -> str:
        """The runs side by side in a notebook: tables and small pictures."""
        first = next(iter(self.runs.values()))
        return hooks.display().runs_html(f"{first.name}, seed {first.summary['seed']}", self.runs)

    def __repr__(self) -> str:
        return f"<clearway.Comparison of {', '.join(self.runs)}>"


def compare(
    scenario: Source,
    transports: Sequence[str],
    *,
    seed: int | None = None,
    set: Settings | None = None,  # noqa: A002 - the name that the command and scenario files have for it
    out: str | Path | None = None,
    force: bool = False,
    progress: Callable[[str], ProgressCallback | None] | bool | None = None,
    threads: int = 1,
    beside: int = 1,
) -> Comparison:
    """Runs a scenario under each of the transports, with the same seed and so the same traffic.

    A transport with parameters of its own, `"expresspass+tell_end=true"`, is one more: it stands beside
    `"expresspass"` under that name.

    All are checked before the first is run. With `out`, the comparison is written to that folder at its end, as a
    whole, with a folder for each transport. Other transports of the same scenario, seed and settings that were compared
    there before stay beside them.

    `beside` runs go on at a time, each with `threads` threads, as of `clearway.run`. Neither changes a result.

    `progress=True` shows a bar; a function is asked for a callback once per transport. Ctrl-C raises `Interrupted`,
    whose `partial` is the comparison as far as it got; with `out`, that is written first.
    """
    if not transports:
        raise _clearway.Error("compare: name at least one transport, such as expresspass,dctcp")
    if len({*transports}) < len(transports):
        raise _clearway.Error(f"compare: {','.join(transports)} names a transport twice")
    scenario = examples.of_source(scenario)
    loaded = {name: load_scenario(scenario, transport=name, seed=seed, set=set, out=out) for name in transports}
    results = {name: one.to_toml() for name, one in loaded.items()}
    if out is not None:
        results |= compared_before(scenario, Path(out), loaded, seed, set)
        folder.check_target(out, results, force=force)
    runs: dict[str, Run] = {}
    stopped = False
    with progress_bar(quiet=progress is not True) as bar:
        start = progress if callable(progress) else bar.beside(loaded, beside)

        def one(name: str) -> tuple[Run, bool]:
            watch = start(name)
            return watched(loaded[name], transport=name, set=set, progress=watch, out=out, threads=threads)

        if beside > 1:
            runs, stopped = side_by_side(one, loaded, beside)
        else:
            for name in loaded:
                runs[name], stopped = one(name)
                if runs[name].interrupted:
                    break
    if not runs:
        raise Interrupted
    found = Comparison(runs, None if out is None else save(runs, out, results, force=force))
    if stopped:
        raise Interrupted(next(run for run in reversed(runs.values()) if run.interrupted), found)
    return found


def side_by_side(
    one: Callable[[str], tuple[Run, bool]], names: Iterable[str], beside: int
) -> tuple[dict[str, Run], bool]:
    """Runs each name by `one`, so many at a time; the second value is true if Ctrl-C ended some.

    After Ctrl-C, or a callback that ended a run, no other begins, and those that are under way end as they are.
    """
    ends = threading.Event()

    def unless_ended(name: str) -> tuple[Run, bool] | None:
        if ends.is_set():
            return None
        run, stopped = one(name)
        if run.interrupted:
            ends.set()
        return run, stopped

    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(beside, "compare") as pool:
        futures = {name: pool.submit(unless_ended, name) for name in names}
        try:
            wait(futures.values())
        except KeyboardInterrupt:
            # The runs see that this thread handles Ctrl-C, and end.
            ends.set()
            wait(futures.values())
    found = {}
    for name, future in futures.items():
        with suppress(Interrupted):
            if (result := future.result()) is not None:
                found[name] = result
    return {name: run for name, (run, _) in found.items()}, any(stopped for _, stopped in found.values())


def compared_before(
    scenario: Source,
    out: Path,
    now: Container[str],
    seed: int | None,
    set: Settings | None,  # noqa: A002
) -> dict[str, str]:
    """The resolved scenario under each transport that has a folder in `out` and is not among those asked for now."""
    found = {}
    for path in folder.find_runs(out) if out.is_dir() else []:
        if path.parent == out and path.name not in now:
            with suppress(_clearway.ScenarioError):  # Its name is no transport's, so it is of another kind.
                found[path.name] = load_scenario(scenario, transport=path.name, seed=seed, set=set).to_toml()
    return found


def save(runs: Mapping[str, Run], path: str | Path, results: folder.Results, *, force: bool) -> Path:
    """Writes runs to a folder as a whole; others of the comparison, as `results` has them, may be there and stay."""
    partial = [name for name, run in runs.items() if run.cut_off]
    draft = folder.draft(path, results, force=force, partial=partial)
    with uninterrupted(), draft as scratch:
        for name, run in runs.items():
            (scratch / name).mkdir()
            fill(run, scratch / name)
    return draft.path


def headline(run: Run) -> dict[str, Any]:
    """A run in a few numbers; the keys name the units. Queues are of switch ports, the worst of them.

    Keys that start with `window_` are of the window of measurement (`clearway.window.in_window`), all others of the
    whole run. What flow control did (`pauses`, `longest_pause_s`, `storms`, `deadlocked_ports`) is None where there is
    none, and so are `marks` where no switch marks packets, and `trims` where none cuts them to their headers.
    """
    ports, of_flows = run.held("ports"), credit_counts(run)
    dropped = metrics.drops(ports)
    credits_dropped = dropped.pop("credit", 0)
    longest, port = metrics.worst_port(ports, "queue_max_bytes")
    measured = run.summary["measured"]
    control = run.summary.get("flow_control")
    return {
        "flows_completed": run.summary["flows_completed"],
        "flows_started": run.summary["flows_started"],
        "queue_max_bytes": longest,
        "queue_max_port": port,
        "queue_mean_bytes": metrics.largest(ports, "queue_mean_bytes", of_switches=True),
        "drops": sum(dropped.values()),
        "drops_by_reason": dropped,
        "credit_drops": credits_dropped,
        "trims": metrics.total(ports, "trims") if "trims" in tables.names(ports) else None,
        "marks": marks(run),
        "repeated_signals": of_flows["repeated_signals"],
        "pauses": control["pauses"] if control else None,
        "longest_pause_s": control["longest_pause_s"] if control else None,
        "storms": len(control["storms"]) if control else None,
        "deadlocked_ports": len(control["deadlock"]) if control else None,
        "notices": run.summary["notices"],
        "utilisation_max": metrics.largest(ports, "utilisation"),
        "credit_waste": metrics.wasted_share(of_flows["credits_used"], of_flows["credits_wasted"]),
        "simulated_s": run.summary["simulated_s"],
        "million_link_transmissions_per_cpu_s": measured["million_link_transmissions_per_cpu_s"],
        "cpu_s": measured["cpu_s"],
        "peak_memory_bytes": measured["peak_memory_bytes"],
        "ended": run.summary["ended"],
        **{f"window_{key}": number for key, number in in_window(run).items()},
        "hash": run.hash,
    }


def marks(run: Run) -> int | None:
    """The packets that ports marked; None if no port of the scenario marks any."""
    count = metrics.total(run.held("ports"), "marks")
    # The resolved scenario has the key once for all classes and once for each, and is long to parse for one key.
    marks_any = any(word != "off" for word in re.findall(r'^marking = "(.*)"$', run.scenario, re.MULTILINE))
    return count if count or marks_any else None


def credit_counts(run: Run) -> dict[str, int]:
    """The sums of the columns of flows that count credits; 0 for those that the flows of a run have not."""
    stored = run.stored("flows")
    if isinstance(stored, tables.Held):
        return {name: metrics.total(stored, name) if name in stored.names else 0 for name in CREDITS}
    rows = run.scan("flows")
    there = [name for name in CREDITS if name in rows.collect_schema().names()]
    return dict.fromkeys(CREDITS, 0) | rows.select(pl.col(there).sum()).collect().row(0, named=True)
