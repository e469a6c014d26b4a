"""Reading a scenario and running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import tomli_w

from clearway import _clearway, ended, examples, folder, traces
from clearway.bars import ProgressCallback, progress_bar
from clearway.checkpoint import Checkpoints
from clearway.cost import Meter
from clearway.interrupt import Interrupted, Watch
from clearway.machine import bytes_of, disk_left, memory_limit, most_resident, nearest
from clearway.result import Run
from clearway.scenario import keys, variant
from clearway.tables import PART, describe, read_table

if TYPE_CHECKING:
    import polars as pl

#: A path to a scenario file, the name of an example, the text of a scenario, or its content as a dict.
Source = str | Path | Mapping[str, Any]
#: Values for `set`: what a scenario file would say, as text or as a number.
Settings = Mapping[str, Any]


def run(
    scenario: Source,
    *,
    transport: str | None = None,
    seed: int | None = None,
    set: Settings | None = None,  # noqa: A002 - the name that the command and scenario files have for it
    out: str | Path | None = None,
    force: bool = False,
    progress: ProgressCallback | bool | None = None,
    memory: int | str | None = None,
    threads: int = 1,
    checkpoint: str | float | None = None,
    fresh: bool = False,
) -> Run:
    """Simulates a scenario and returns what happened.

    `scenario` is a path, the name of an example (`clearway list scenarios`), the text of a scenario (anything with a
    line break in it), or a dict of the same schema. A file in the current folder goes before an example of its name.
    `transport` replaces the transport of all its traffic, `seed` its seed, and `set` single keys:
    `set={"switch.buffer": "1 MB"}`. A transport may bring parameters of its own: `"expresspass+tell_end=true"`. With
    `out`, the results are written to that folder too (`Run.save`), and many flows and samples leave memory for that
    disk while the run goes on, so that ten million fit into a gigabyte.

    `progress=True` shows a bar on the terminal or in the notebook. A function is called at most ten times a second with
    a `Progress`; when it returns `False`, the run ends there and is returned with `interrupted` set. The interpreter is
    free for other threads meanwhile.

    `threads` simulate parts of the network beside each other. Results don't depend on their number, and a scenario that
    can't be cut runs on one thread (`clearway check` says why).

    A run that is estimated to take more than `memory`, as bytes or as `"8 GB"`, or more than the disk of `out` has, is
    refused. Without `memory`, the limit is what the environment variable `CLEARWAY_MEMORY` says or else what this
    process may have of the machine (`clearway.machine`). A run that takes more all the same ends there, and is returned
    with `cut_off` set.

    With `checkpoint`, a wall time such as `"10 min"` or a number of seconds, the state of the run is kept in the folder
    `OUT.checkpoint` that often. The same call goes on from there after this process was killed or interrupted, with
    any number of `threads`, and the results are those of a run that never was, but for their cost; `fresh` starts over.

    Raises `ScenarioError` for what can't be simulated, before anything is run or written. Ctrl-C raises `Interrupted`,
    a `KeyboardInterrupt` whose `run` covers the time that was simulated; with `out`, it is written first. Simulations
    in other threads raise it too while the main thread handles the Ctrl-C.
    """
    scenario = examples.of_source(scenario)
    loaded = load_scenario(scenario, transport=transport, seed=seed, set=set, memory=memory, out=out)
    if out is not None:
        folder.check_target(out, {"": loaded.to_toml()}, force=force)
    with kept(checkpoint, out, loaded, fresh=fresh) as checkpoints:
        with progress_bar(quiet=progress is not True) as bar:
            watch = progress if callable(progress) else bar.start(loaded.name)
            result, stopped = watched(
                loaded,
                transport=transport,
                set=set,
                progress=watch,
                out=out,
                threads=threads,
                checkpoints=checkpoints,
                memory=memory,
            )
        if out is not None:
            result.save(out, force=force)
        if checkpoints is not None and result.summary["ended"] not in ended.GOES_ON:
            checkpoints.close()
    if stopped:
        raise Interrupted(result)
    return result


def watched(
    scenario: _clearway.Scenario,
    *,
    transport: str | None = None,
    set: Settings | None = None,  # noqa: A002
    progress: ProgressCallback | None = None,
    out: str | Path | None = None,
    threads: int = 1,
    checkpoints: Checkpoints | None = None,
    memory: int | str | None = None,
) -> tuple[Run, bool]:
    """Runs a scenario as `simulate` does; the second value is true if Ctrl-C, in any thread, ended the run."""
    watch = Watch(progress)
    if watch.stopped():
        raise Interrupted
    result = simulate(
        scenario,
        transport=transport,
        set=set,
        progress=watch,
        out=out,
        threads=threads,
        checkpoints=checkpoints,
        memory=memory,
    )
    return result, result.interrupted and not watch.declined


@contextmanager
def kept(
    every: str | float | None,
    out: str | Path | None,
    scenario: _clearway.Scenario,
    *,
    fresh: bool = False,
    tell: Callable[[float], object] | None = None,
) -> Iterator[Checkpoints | None]:
    """The checkpoints of a run; `None` if it has none. See `Checkpoints` for what the values are."""
    if every is None:
        yield None
    elif out is None:
        raise _clearway.Error("checkpoint: needs out, the folder of the results, beside which checkpoints are kept")
    else:
        with Checkpoints(out, scenario.to_toml(), every, fresh=fresh, tell=tell) as checkpoints:
            yield checkpoints


def load_scenario(
    scenario: Source,
    *,
    transport: str | None = None,
    seed: int | None = None,
    set: Settings | None = None,  # noqa: A002
    memory: int | str | None = None,
    out: str | Path | None = None,
) -> _clearway.Scenario:
    """Reads and checks a scenario without running it; `memory` and `out`, whose disk has to do, are those of `run`."""
    if seed is not None and not 0 <= seed < 2**64:
        raise _clearway.ScenarioError(f"seed = {seed}: write a whole number from 0 to {2**64 - 1}")
    settings = [(key, text_of(value)) for key, value in (set or {}).items()]
    if transport is not None:
        transport, own = variant.split(transport)
        settings = [(key, value) for key, value in settings if key not in own] + list(own.items())
    limit = memory_limit() if memory is None else bytes_of(memory, "memory")
    disk = None if out is None else disk_left(Path(out))
    if isinstance(scenario, Mapping):
        text, origin = dump_toml(scenario), "<dict>"
    elif isinstance(scenario, str) and "\n" in scenario:
        text, origin = scenario, "<text>"
    else:
        try:
            return _clearway.Scenario.load(
                scenario, transport=transport, seed=seed, set=settings, memory=limit, disk=disk
            )
        except _clearway.ScenarioError as error:
            whole = keys.whole(str(error), keys.read(Path(scenario)), transport)
            if whole is None:
                raise
            raise _clearway.ScenarioError(whole) from None
    return _clearway.Scenario.parse(
        text, origin, ".", transport=transport, seed=seed, set=settings, memory=limit, disk=disk
    )


def simulate(
    scenario: _clearway.Scenario,
    *,
    transport: str | None = None,
    set: Settings | None = None,  # noqa: A002
    progress: ProgressCallback | None = None,
    out: str | Path | None = None,
    part_rows: int = PART,
    threads: int = 1,
    checkpoints: Checkpoints | None = None,
    memory: int | str | None = None,
) -> Run:
    """Runs a scenario that was read; `transport` and `set` are only noted.

    With `out`, rows leave memory for the disk of that folder, `part_rows` at a time, if there are many. A run that
    takes more than `memory` after all, whatever was estimated, ends there with the results so far (`Run.cut_off`).
    """
    if threads < 1:
        raise _clearway.ScenarioError(f"threads = {threads}: must be at least 1")
    meter = Meter(threads)
    spool = None if out is None else nearest(Path(out))
    if checkpoints is not None:
        checkpoints.measure(meter)
    most = most_resident(memory)
    results = scenario.run(
        progress, spool=spool, part_rows=part_rows, threads=threads, checkpoint=checkpoints, memory=most
    )
    made = made_of(scenario, results, meter, transport=transport, set=set)
    if made.summary["ended"] == ended.OUT_OF_MEMORY:
        made.summary["memory_limit_bytes"] = most
    return made


def made_of(
    scenario: _clearway.Scenario,
    results: _clearway.Results,
    meter: Meter,
    *,
    transport: str | None = None,
    set: Settings | None = None,  # noqa: A002
) -> Run:
    """The run of a scenario, made of its results and of what they cost."""
    totals = results.summary
    overrides: dict[str, Any] = {"set": {key: text_of(value) for key, value in (set or {}).items()}}
    if transport is not None:
        overrides["transport"] = transport
    summary = {
        "clearway": _clearway.__version__,
        "commit": _clearway.__commit__,
        "build": _clearway.__build__,
        "profile": _clearway.__profile__,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "overrides": overrides,
        "hash": results.hash,
        **totals,
        "measured": meter.read(totals["link_transmissions"]),
    }
    flows, ports, samples = results.tables
    return Run(
        name=scenario.name,
        flows=cast("pl.DataFrame", read_table(flows)),  # A data frame when it is first asked for.
        ports=cast("pl.DataFrame", read_table(ports)),
        samples=cast("pl.DataFrame", read_table(samples)),
        summary=summary,
        scenario=scenario.to_toml(),
        described={table.name: describe(table) for table in results.tables},
        traces=traces.taken(results, scenario.name),
    )


def text_of(value: object) -> str:
    """A value as `--set` would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def dump_toml(scenario: Mapping[str, Any]) -> str:
    """A dict as the text of a scenario."""
    try:
        return tomli_w.dumps(scenario)
    except (TypeError, ValueError, AttributeError) as error:
        raise _clearway.ScenarioError(f"<dict>: this can't be written as TOML: {error}") from None
