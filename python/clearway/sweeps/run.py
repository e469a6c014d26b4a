"""Running a sweep: every point once, whatever happens meanwhile."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from clearway import _clearway, folder, scratch
from clearway._clearway import Error
from clearway.interrupt import Interrupted
from clearway.jobs import files, sources
from clearway.jobs.processes import Processes
from clearway.jobs.progress import Progress, Tally, bar
from clearway.jobs.store import MANIFEST, Store
from clearway.jobs.workers import Done, Failure, Limits, Task, Workers, cores
from clearway.machine import disk_left, memory_limit
from clearway.naming import OUT, safe_name
from clearway.packs import Packed
from clearway.result import Run, fill
from clearway.runner import simulate
from clearway.sweeps import collector, copies, file, frame, packing, record, saved, target
from clearway.sweeps.file import Spec
from clearway.sweeps.kept import scenario_of
from clearway.sweeps.limits import PointLimits, limits
from clearway.sweeps.packing import Packing
from clearway.sweeps.points import Column, Point, columns, folder_names, resolve
from clearway.sweeps.record import KEY, Entry, Record
from clearway.sweeps.result import Sweep, assembled

#: Files of a store's entry: the summary of the run, and the numbers of the frame.
SUMMARY, MEASURED = "run.json", "measured.json"


def sweep(
    scenario: str | Path | Mapping[str, Any],
    axes: Mapping[str, Any] | None = None,
    *,
    zips: Sequence[Mapping[str, Any]] = (),
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    points: Sequence[Mapping[str, Any]] = (),
    exclude: Sequence[Mapping[str, Any]] = (),
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name that the command and scenario files have for it
    labels: Mapping[str, str] | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    store: str | Path | None = None,
    processes: int | None = None,
    on: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    point_timeout: str | float | None = None,
    point_memory: str | int | None = None,
) -> Sweep:
    """Runs a scenario at every point that the axes span, and returns one data frame of the results.

    `scenario` is a path, a name, a text or a dict, as for `clearway.run`; with nothing but `scenario`, it is the path
    or the name of a sweep file. `axes` maps keys of the scenario (and `transport`, `seed`) to lists of values, or to
    ranges such as `{"from": 1, "to": 5}`. `zips` are tables of keys whose values go together, `cases` axes of named
    settings, `points` further points, `exclude` values of points to leave out; `docs/how-to/sweeps.md` explains them.

    The results are written to the folder `out` (default: `out/NAME`); `store` (default: `.store` beside it) keeps the
    result of every point, so that none is run twice: after Ctrl-C, a crash, or in another sweep. `processes` run at a
    time, one a core by default. `on` names a cluster: `dask://HOST:PORT` or `slurm`.

    `point_timeout`, such as `"10 min"` or seconds, and `point_memory`, such as `"4 GB"` or bytes, bound every point;
    one that exceeds them fails. By default there is no bound of time, and that of memory is a share of the machine.

    A point that fails is in `failures` of the result, and the others go on. Ctrl-C raises `Interrupted`, whose
    `partial` is the sweep as far as it was finished. All mistakes are found, and raised as `Error`, before anything is
    run.
    """
    asked = [axes, zips, cases, points, exclude, labels]
    if not any(asked) and isinstance(scenario, str | Path) and "\n" not in str(scenario):
        spec = copies.read(scenario, set)
        spec = spec if name is None else file.of_content({**spec.content, "name": name}, spec.origin, spec.base, name)
    else:
        spec = file.of_content(
            content_of(scenario, axes, zips, cases, points, exclude, set, labels),
            "<sweep>",
            Path(),
            name or name_of(scenario),
        )
    asked_limits = PointLimits.of(point_timeout, point_memory, on)
    memory = memory_limit() if on is None else None
    plan = Plan.of(spec, out, store, force=force, memory=memory, limits=asked_limits)
    with bar(spec.name, quiet=progress is not None) as shown, closing(workers(plan, processes, on)) as staff:
        found = run(plan, staff, progress or shown)
    if found.interrupted:
        raise Interrupted(partial=found)
    return found


def content_of(
    scenario: str | Path | Mapping[str, Any],
    axes: Mapping[str, Any] | None,
    zips: Sequence[Mapping[str, Any]],
    cases: Mapping[str, Mapping[str, Any]] | None,
    points: Sequence[Mapping[str, Any]],
    exclude: Sequence[Mapping[str, Any]],
    fixed: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
) -> dict[str, Any]:
    """The arguments of `sweep` as the content of a sweep file."""
    written: Any = scenario
    if isinstance(scenario, str) and "\n" in scenario:
        written = tomllib.loads(scenario)
    elif isinstance(scenario, Path):
        written = str(scenario)
    parts = {
        "scenario": written,
        "set": dict(fixed or {}),
        "axes": {
            key: list(values) if isinstance(values, range | tuple) else values for key, values in (axes or {}).items()
        },
        "zip": [dict(row) for row in zips],
        "cases": dict(cases or {}),
        "point": [dict(row) for row in points],
        "exclude": [dict(row) for row in exclude],
        "labels": dict(labels or {}),
    }
    return {key: value for key, value in parts.items() if value}


def name_of(scenario: str | Path | Mapping[str, Any]) -> str:
    """The name of a sweep that was given none: that of its scenario."""
    if isinstance(scenario, Mapping):
        return str(scenario.get("name", "sweep"))
    if "\n" in str(scenario):
        return str(tomllib.loads(str(scenario)).get("name", "sweep"))
    return f"{Path(scenario).stem}-sweep"


def workers(plan: Plan, processes: int | None, on: str | None = None) -> Workers:
    """The workers of a sweep: processes of this machine, also for one run at a time, or a cluster.

    A run that aborts takes its process with it, so none runs in this one. There are no more processes than have room
    in the memory of the machine, if the largest points meet.
    """
    if on is not None:
        from clearway.jobs.cluster import connect

        return connect(on, processes)
    count = cores() if processes is None else processes
    if count < 1:
        raise Error(f"processes = {count}: write 1 or more")
    return Processes(min(count, plan.room(memory_limit())))


@dataclass
class Plan:
    """A sweep that was checked: its points, and where their results are and go."""

    spec: Spec
    points: list[Point]
    #: Name of the folder of each point.
    names: list[str]
    columns: list[Column]
    out: Path
    store: Store
    #: Number of a point -> the numbers of the frame that the store has of it.
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: Costs of each run.
    costs: dict[int, dict[str, Any]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    #: Limits of every point, as they were asked for.
    limits: PointLimits = field(default_factory=PointLimits)

    @classmethod
    @collector.paused()
    def of(
        cls,
        spec: Spec,
        out: str | Path | None,
        store: str | Path | None,
        *,
        force: bool = False,
        memory: int | None = None,
        limits: PointLimits | None = None,
    ) -> Plan:
        """Resolves all points and checks the target; nothing is written. No point may take more than `memory` bytes."""
        place = Path(out) if out is not None else OUT / safe_name(spec.name)
        found = resolve(spec, how(), memory, None if memory is None else disk_left(place))
        names = folder_names(found)
        target.check(place, found, names, force=force)
        kept = Store(store if store is not None else place.parent / ".store")
        described = columns(spec, found, frame.TAKEN)
        return cls(spec, found, names, described, place, kept, limits=limits or PointLimits())

    def room(self, memory: int | None) -> int:
        """The number of points that can run at a time in `memory` bytes, one at least, whichever of them meet."""
        largest = sorted((point.memory_bytes for point in self.points), reverse=True)
        fitting = [count for count, taken in enumerate(itertools.accumulate(largest), 1) if taken <= (memory or taken)]
        return max(fitting, default=1)

    @cached_property
    def packed(self) -> dict[str, packing.Row]:
        """The results of the points that are in packs, by their keys; looked for once."""
        return packing.rows((self.packing.store, self.packing.out), [point.key for point in self.points])

    @cached_property
    def packing(self) -> Packing:
        """The packs, for the results of small points."""
        return Packing(self.store.folder, self.out)

    def is_small(self, index: int) -> bool:
        """True for a point whose result goes into a pack, if it turns out to be as small as it is estimated to be."""
        return len(self.points) >= packing.POINTS and self.points[index].cpu_s <= packing.CPU_S

    def missing(self) -> list[int]:
        """The points that the store has no result of, by the names of its entries alone."""
        known = self.packed
        return [
            index for index, point in enumerate(self.points) if point.key not in known and point.key not in self.store
        ]

    def take(self, index: int) -> bool:
        """Takes the result of a point from the store into the sweep's folder; False if there is none."""
        if (row := self.packed.get(self.points[index].key)) is not None:
            self.packing.link(row.pack)
            self.rows[index], self.costs[index] = packing.numbers(row)
            return True
        entry = self.store.get(self.points[index].key)
        if entry is None:
            return False
        summary = json.loads((entry / SUMMARY).read_bytes())
        self.costs[index] = summary["measured"]
        self.rows[index] = json.loads((entry / MEASURED).read_bytes())
        self.publish(index, entry, summary)
        return True

    def accept(self, index: int, result: Packed) -> None:
        """Takes the result of a small point, which was just run."""
        with scratch.uninterrupted():
            self.packing.add(result)
            self.rows[index], self.costs[index] = packing.numbers(result)

    def commit(self) -> None:
        """Writes what is not written yet; points whose results can't be have failed."""
        self.packing.commit()
        for index in [index for index in self.rows if self.points[index].key in self.packing.lost]:
            del self.rows[index], self.costs[index]
            self.failures[index] = Failure(self.packing.lost[self.points[index].key])

    def publish(self, index: int, entry: Path, summary: dict[str, Any]) -> None:
        """Makes a folder that `clearway.load` reads from a result of the store, unless it is there already."""
        point, place = self.points[index], self.out / record.RUNS / self.names[index]
        files = [file for file in entry.iterdir() if file.name not in (SUMMARY, MEASURED, MANIFEST)]
        if is_published(place, point.key, files):
            return
        with folder.draft(place, force=True, durable=False, clean=False) as made:
            for file in files:
                link(file, made / file.name)
            folder.seal(made, {**summary, "overrides": point.overrides, KEY: point.key})

    def begin(self) -> Record:
        """Writes into the folder which sweep it is, before the first point is run; no tables belong to it yet."""
        points = [Entry(name, point.key, point.identity) for name, point in zip(self.names, self.points, strict=True)]
        kept = Record(self.spec.name, self.columns, points)
        contents = copies.contents(self.spec, self.points)
        before = record.files_of(self.out) if (self.out / copies.FILES).is_dir() else []
        changed = [name for name, content in contents.items() if not files.has(self.out / name, content)]
        if changed:  # A record names no file that is about to change.
            kept.write(self.out)
        for name in changed:
            files.replace(self.out / name, contents[name])
        kept = kept.sealed(self.out, contents)
        kept.write(self.out)
        for name in before:  # Of another sweep, whose place this one takes.
            if name.startswith(f"{copies.FILES}/") and name not in contents:
                (self.out / name).unlink(missing_ok=True)
        return kept

    @collector.paused()
    def result(self, *, interrupted: bool) -> Sweep:
        """The sweep as far as it was run."""
        folders = [f"{record.RUNS}/{name}" for name in self.names]
        failed = {at: failure.message for at, failure in self.failures.items()}
        return assembled(
            self.spec.name, self.out, self.columns, folders, self.rows, self.costs, failed, interrupted=interrupted
        )


@cache
def how() -> str:
    """Hash of how results come about: the simulator as compiled, and the code that runs it and writes its results."""
    return sources.digest(sources.engine_hash(), sources.fingerprint(simulate, fill, frame.measure, packing.row_of))


def is_published(target: Path, key: str, files: Sequence[Path]) -> bool:
    """True if a folder holds the result of a key, undamaged. `files` are those of the store, which are undamaged."""
    try:
        summary, hashes = folder.unseal(target)
        if summary.get(KEY) != key or {*hashes} != {file.name for file in files}:
            return False
        return all(
            (target / file.name).samefile(file) or folder.file_hash(target / file.name) == hashes[file.name]
            for file in files
        )
    except (OSError, ValueError):
        return False


def link(file: Path, other: Path) -> None:
    """Gives a file a second name, or copies it where the file system can't."""
    try:
        other.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, other)


def write(resolved: str, path: Path) -> None:
    """Runs a point and writes its result to a folder: the files of a run, and what the frame says of it."""
    write_run(simulate(scenario_of(resolved), out=path), path)


def write_run(run: Run, path: Path) -> None:
    """Writes the result of a point to a folder."""
    run.check_whole()
    fill(run, path)
    # Under another name, since an entry of the store is no result folder: it does not say which sweep asked for it.
    summary = {name: value for name, value in run.summary.items() if name not in (folder.FILES, folder.CHECKSUM)}
    (path / folder.SUMMARY).unlink()
    (path / SUMMARY).write_text(json.dumps(summary), "utf-8")
    (path / MEASURED).write_text(json.dumps(frame.measure(run)), "utf-8")


def keep(resolved: str, key: str, store: str) -> None:
    """Runs a point unless another process does so too, and keeps its result in the store."""
    kept = Store(store)
    with kept.claim(key):
        if key not in kept:
            kept.put(key, partial(write, resolved))


def pack(resolved: str, key: str, store: str) -> Packed | None:
    """Runs a small point, and returns its result as a row of a pack; one that is large after all goes to the store."""
    run, result = ran(resolved, key)
    if result is None:
        Store(store).put(key, partial(write_run, run))
    return result


def ran(resolved: str, key: str) -> tuple[Run, Packed | None]:
    """Runs a small point; its result also as a row of a pack, if it is as small as it was estimated to be."""
    run = simulate(scenario_of(resolved))
    run.check_whole()
    return run, packing.row_of(run, key)


def compute(resolved: str, version: str, key: str = "") -> dict[str, bytes] | Packed:
    """Runs a point on a machine that does not see the store: the files of its result, or with its key a row of a pack.

    `version` is the `how` of the machine that asked, which must be that of this one.
    """
    if version != how():
        raise Error(
            f"{socket.gethostname()} has another Clearway ({_clearway.__version__}, commit {_clearway.__commit__}, or "
            "changed files); install the same on all machines"
        )
    with tempfile.TemporaryDirectory(prefix="clearway-") as folder:
        if key:
            run, result = ran(resolved, key)
            if result is not None:
                return result
            write_run(run, Path(folder))
        else:
            write(resolved, Path(folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def run(plan: Plan, workers: Workers, progress: Progress = lambda _: None) -> Sweep:
    """Runs the points that have no result yet, and writes the sweep's folder."""
    plan.store.clean()
    plan.packing.clean()
    for place in (plan.out, plan.out / copies.FILES):
        files.clean(place)
    scratch.clean(plan.out / record.RUNS, folder.owned)
    kept = plan.begin()
    tally = Tally(len(plan.points))
    interrupted = False
    try:
        with collector.paused():
            todo = [index for index in range(len(plan.points)) if not plan.take(index)]
        bounds = limits(plan.limits, [plan.points[index] for index in todo], workers.count, memory_limit())
        tasks = {plan.names[at]: task(plan, at, workers, bound) for at, bound in zip(todo, bounds, strict=True)}
        by_name = {plan.names[index]: index for index in todo}
        tally.start(list(tasks.values()))
        progress(tally)
        with closing(workers.run(list(tasks.values()))) as answers:
            for done in answers:
                settle(plan, by_name[done.task.name], done)
                tally.count(done)
                progress(tally)
    except KeyboardInterrupt:
        interrupted = True
    plan.commit()
    plan.store.clean()
    found = plan.result(interrupted=interrupted)
    saved.write(found, kept)
    return found


def task(plan: Plan, index: int, workers: Workers, bounds: Limits) -> Task:
    """The task of running a point."""
    point, name = plan.points[index], plan.names[index]
    weight, small = max(point.cpu_s, 1e-3), plan.is_small(index)
    if workers.share_files:
        function = pack if small else keep
        return Task(name, function, (point.resolved, point.key, str(plan.store.folder.resolve())), weight, bounds)
    return Task(name, compute, (point.resolved, how(), point.key if small else ""), weight)


def settle(plan: Plan, index: int, done: Done) -> None:
    """Takes the answer for a point: its result, or its failure."""
    failure, key = done.failure, plan.points[index].key
    try:
        if isinstance(done.result, Packed):
            plan.accept(index, done.result)
            return
        if done.result is not None:
            plan.store.put_files(key, done.result)
        # Another command may have made the result for which a worker waited until its time was over.
        if (failure is None or key in plan.store) and plan.take(index):
            return
        failure = failure or Failure("its result was damaged before it could be read")
    except Error as error:
        failure = failure or Failure(str(error))
    plan.failures[index] = failure
