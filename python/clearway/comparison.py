"""Comparisons: one scenario under several transports, and each run in a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clearway import _clearway, folder, metrics
from clearway.result import Run
from clearway.runner import ProgressCallback, Settings, Source, load_scenario, simulate


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs that differ in their transport alone."""

    #: transport -> run, in the order asked for.
    runs: dict[str, Run]

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the comparison; the transports after that were not run."""
        return any(run.interrupted for run in self.runs.values())

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

    def table(self) -> pl.DataFrame:
        """A row per transport: what `headline` says of its run."""
        return pl.DataFrame([{"run": name, **headline(run)} for name, run in self.runs.items()])

    def fct_by_size(self) -> pl.DataFrame:
        """FCT and slowdown by size bucket and transport; see `clearway.metrics.fct_by_size`."""
        return pl.concat(
            metrics.fct_by_size(run.flows).select(pl.lit(name).alias("run"), pl.all())
            for name, run in self.runs.items()
        )

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes each run to a folder of its transport's name in `path`."""
        folder.check_target(path, force=force)
        for name, run in self.runs.items():
            run.save(Path(path) / name, force=force)
        return Path(path)

    def _joined(self, table: str) -> pl.DataFrame:
        frames: dict[str, pl.DataFrame] = {name: getattr(run, table) for name, run in self.runs.items()}
        return pl.concat(frame.select(pl.lit(name).alias("run"), pl.all()) for name, frame in frames.items())

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
    progress: Callable[[str], ProgressCallback | None] | None = None,
) -> Comparison:
    """Runs a scenario under each of the transports, with the same seed and so the same traffic.

    All are checked before the first is run. `progress` is asked for a callback once per transport. With `out`, each
    run is written to a folder of its transport's name in it, as soon as it is finished.
    """
    if not transports:
        raise _clearway.Error("compare: name at least one transport, such as expresspass,dctcp")
    if len({*transports}) < len(transports):
        raise _clearway.Error(f"compare: {','.join(transports)} names a transport twice")
    loaded = {name: load_scenario(scenario, transport=name, seed=seed, set=set) for name in transports}
    if out is not None:
        folder.check_target(out, force=force)
    runs = {}
    for name, one in loaded.items():
        runs[name] = simulate(one, transport=name, set=set, progress=progress(name) if progress else None)
        if out is not None:
            runs[name].save(Path(out) / name, force=force)
        if runs[name].interrupted:
            break
    return Comparison(runs)


def headline(run: Run) -> dict[str, Any]:
    """A run in a few numbers; the keys name the units. Queues are of switch ports, the worst of them.

    What flow control did (`pauses`, `longest_pause_s`, `storms`, `deadlocked_ports`) is None where there is none.
    """
    ports = metrics.switch_ports(run.ports)
    dropped = metrics.drops(run.ports)
    credits_dropped = dropped.pop("credit", 0)
    worst = ports.sort("queue_max_bytes", "port", descending=[True, False]).head(1)
    measured = run.summary["measured"]
    control = run.summary.get("flow_control")
    return {
        "flows_completed": run.summary["flows_completed"],
        "flows_started": run.summary["flows_started"],
        "queue_max_bytes": int(worst["queue_max_bytes"].item()) if worst.height else 0,
        "queue_max_port": worst["port"].item() if worst.height else "",
        "queue_mean_bytes": value(ports["queue_mean_bytes"].max()),
        "drops": sum(dropped.values()),
        "drops_by_reason": dropped,
        "credit_drops": credits_dropped,
        "pauses": control["pauses"] if control else None,
        "longest_pause_s": control["longest_pause_s"] if control else None,
        "storms": len(control["storms"]) if control else None,
        "deadlocked_ports": len(control["deadlock"]) if control else None,
        "notices": run.summary["notices"],
        "utilisation_max": value(run.ports["utilisation"].max()),
        "credit_waste": metrics.credit_waste(run.flows),
        "simulated_s": run.summary["simulated_s"],
        "million_link_transmissions_per_cpu_s": measured["million_link_transmissions_per_cpu_s"],
        "cpu_s": measured["cpu_s"],
        "peak_memory_bytes": measured["peak_memory_bytes"],
        "ended": run.summary["ended"],
        "hash": run.hash,
    }


def value(of: object) -> float:
    """A number from an aggregate; NaN of nothing."""
    return float(of) if isinstance(of, (int, float)) else float("nan")
