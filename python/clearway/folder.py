"""Result folders: finding them, writing one so that it is whole or not there, and telling that nothing spoilt it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from clearway import ended, reading, scratch
from clearway._clearway import Error
from clearway.scratch import uninterrupted

#: The file with a run's totals and the hashes of all its files.
SUMMARY = "summary.json"
#: The file with a run's scenario, every default filled in.
SCENARIO = "scenario.toml"
#: Files of every run. A run names all of its own in its summary.
ALWAYS = {SUMMARY, SCENARIO, "flows.parquet", "ports.parquet", "samples.parquet"}
#: Keys of a summary that only the file has: the hash of each other file, and that of the rest of the summary.
FILES, CHECKSUM = "files", "checksum"
#: Differences from another run that an error names.
NAMED = 3

#: The results that a folder is to hold: folder in it -> resolved scenario. A run alone is in the folder itself, `""`.
Results = Mapping[str, str]


class Taken(Error):  # noqa: N818 - it says what is wrong with the place
    """There are results in a place that others must not replace."""


class draft:  # noqa: N801 - used as a function is
    """Gives a scratch folder, and makes it the folder `path` when it is left without an exception.

    >>> with folder.draft("out/incast", {"": scenario}) as scratch:  # doctest: +SKIP
    ...     (scratch / "flows.parquet").write_bytes(flows)
    ...     folder.seal(scratch, summary)

    The folder takes its name complete and at once, in exchange for what was there: whatever happens to this process,
    `path` holds the old results or the new ones. `results` and `partial` are those of `check_target`, as is `force`.
    If other results came to `path` while these were made, the new ones go to a name beside it. The attribute `path`
    says afterwards where they are. With `durable`, a power failure spoils nothing either; many small results that can
    be made again are written several times as fast without. With `clean`, leftovers of killed processes beside `path`
    go first, for which all that is there is listed: who writes many folders beside each other does that once.
    """

    def __init__(
        self,
        path: str | Path,
        results: Results | None = None,
        *,
        force: bool = False,
        partial: Collection[str] = (),
        durable: bool = True,
        clean: bool = True,
    ) -> None:
        self.path = Path(path)
        self._results, self._force, self._partial = results, force, partial
        self._durable, self._clean = durable, clean

    def __enter__(self) -> Path:
        """Makes the scratch folder beside the target."""
        check_target(self.path, None, force=True)
        try:
            target = self.path.resolve()
            if self._clean:
                scratch.clean(target.parent, owned)
            self._scratch = scratch.Scratch(target, durable=self._durable)
        except OSError as error:
            raise cant_write(self.path, error) from None
        return self._scratch.new

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """Publishes the scratch folder, or removes it after an exception."""
        with uninterrupted():
            try:
                if kind is None:
                    self._publish()
            except OSError as error:
                raise cant_write(self.path, error) from None
            finally:
                self._scratch.close(owned)

    def _publish(self) -> None:
        self._scratch.flush()
        with scratch.locked(self._scratch.target.parent):
            try:
                check_target(self.path, self._results, force=self._force, partial=self._partial)
            except Taken:
                self.path = spare(self.path)
                self._scratch.target = self._scratch.target.with_name(self.path.name)
            self._scratch.publish(owned)


def seal(path: Path, summary: Mapping[str, Any]) -> None:
    """Writes the summary of a run whose other files are all in a folder, with the hash of each."""
    files = [file for file in sorted(path.iterdir()) if file.is_file() and file.name != SUMMARY]
    with_hashes = {**summary, FILES: {file.name: file_hash(file) for file in files}}
    with_hashes[CHECKSUM] = checksum(with_hashes)
    text = json.dumps(with_hashes, indent=2, ensure_ascii=False) + "\n"
    (path / SUMMARY).write_text(text, "utf-8")


def unseal(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The summary of a run and the hash of each of its other files; raises `ValueError` if it was changed."""
    try:
        summary = json.loads(read_text(path / SUMMARY))
    except (ValueError, RecursionError):
        raise ValueError(f"{SUMMARY} is damaged (it is not JSON)") from None
    if not isinstance(summary, dict) or "clearway" not in summary:
        raise ValueError(f"{SUMMARY} is not one of Clearway's, or damaged")
    if FILES not in summary and CHECKSUM not in summary:
        raise ValueError(f"{SUMMARY} has no hashes of the files, as an older version wrote it; run the scenario again")
    if summary.pop(CHECKSUM, None) != checksum(summary):
        raise ValueError(f"{SUMMARY} is damaged or was edited (its {CHECKSUM} is another)")
    files = summary.pop(FILES, None)
    if not isinstance(files, dict) or not files.keys() >= ALWAYS - {SUMMARY}:
        raise ValueError(f"{SUMMARY} lacks the hashes of the files; run the scenario again")
    return summary, files


def checksum(summary: Mapping[str, Any]) -> str:
    """SHA-256 of all of a summary but its checksum, as JSON without spaces and with sorted keys."""
    rest = {key: value for key, value in summary.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def bytes_hash(content: bytes) -> str:
    """SHA-256 of the content of a file, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def file_hash(file: Path) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    with reading.of_result(file) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_bytes(file: Path) -> bytes:
    """The content of a file of a result."""
    with reading.of_result(file) as content:
        return content.read()


def read_text(file: Path) -> str:
    """The text of a file of a result."""
    return read_bytes(file).decode()


def recover(path: Path) -> None:
    """Brings back a folder that is missing because a process was killed between the two renames that replace it."""
    scratch.recover(path.resolve().parent, owned)


def is_run(path: Path) -> bool:
    """True if a folder holds a run, damaged or not."""
    try:
        if "clearway" in json.loads(read_text(path / SUMMARY)):
            return True
    except (OSError, RecursionError, TypeError, ValueError):
        pass
    return all((path / name).is_file() for name in ALWAYS)


def find_runs(path: Path) -> list[Path]:
    """The runs in a folder and the folders in it, sorted; the folder itself if it is one."""
    recover(path)
    if is_run(path):
        return [path]
    return sorted(runs_in(path))


def runs_in(path: Path) -> Iterator[Path]:
    """The runs below a folder, without those that are still being written or were left behind unfinished."""
    scratch.recover(path, owned)
    for entry in scratch.entries(path):
        if entry.is_dir(follow_symlinks=False) and not scratch.is_scratch(entry.name):
            child = path / entry.name
            if is_run(child):
                yield child
            yield from runs_in(child)


def owned(path: Path) -> set[str]:
    """The names of the files of the run in a folder, which go when it is replaced; empty if there is none."""
    if not is_run(path):
        return set()
    try:
        files = json.loads(read_text(path / SUMMARY))[FILES]
        return {SUMMARY, *files}
    except (OSError, LookupError, RecursionError, TypeError, ValueError):
        return ALWAYS


def check_target(
    path: str | Path, results: Results | None = None, *, force: bool = False, partial: Collection[str] = ()
) -> None:
    """Refuses a place where results must not be written.

    Results may take the place of equal ones, which come from the same resolved scenario, but of no others. `results`
    are those that may be there; without them, any that are there are others. Those of them that `partial` names were
    interrupted, and do not take the place of finished ones. With `force`, results may take any place.
    """
    path = Path(path)
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            raise Error(f"{path}: there is a file of this name; name a folder")
        check_movable(path)
        if not force:
            check_results(path, results, partial=partial)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cant_write(path, error) from None


def check_movable(path: Path) -> None:
    """Refuses a folder that can't be exchanged for another."""
    place = path.resolve()
    if place == Path.cwd() or place in Path.cwd().parents:
        raise Error(f"{path}: this is the current folder, or one around it; name one in it, such as out")
    if place.is_mount():
        raise Error(f"{path}: a file system is mounted here; name a folder in it, such as {path / 'run'}")


def check_results(path: Path, results: Results | None, *, partial: Collection[str]) -> None:
    """Refuses a folder with something other than these results."""
    inside = [path / entry.name for entry in scratch.entries(path) if not scratch.is_scratch(entry.name)]
    if is_run(path):
        found = {"": path}
    elif all(child.is_dir() and is_run(child) for child in inside):
        found = {child.name: child for child in inside}
    else:
        raise Taken(
            f"{path}: this folder holds something other than results; name another, or use --force (nothing is deleted)"
        )
    for name, folder in found.items():
        if name not in (results or {}):
            what = "a run" if len(found) == 1 else f"runs ({', '.join(sorted(found))})"
            raise Taken(f"{path}: this folder holds {what}; name another with --out, or use --force")
        if differs := difference(folder, (results or {})[name]):
            raise Taken(f"{folder}: holds another run ({differs}); name another folder with --out, or use --force")
        if name in partial and is_finished(folder):
            raise Taken(f"{folder}: holds this run, finished, which an interrupted one does not replace; use --force")


def difference(other: Path | str, scenario: str) -> str:
    """The keys in which the run in a folder, or another scenario, differs from a resolved one; empty if none do."""
    try:
        there = other if isinstance(other, str) else read_text(other / SCENARIO)
        if body(there) == body(scenario):
            return ""
        theirs, ours = (dict(flat(tomllib.loads(text))) for text in (there, scenario))
    except (OSError, RecursionError, ValueError):
        return f"its {SCENARIO} can't be read"
    keys = [key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)]
    named = [f"{key} = {theirs.get(key, 'left out')} there, {ours.get(key, 'left out')} here" for key in keys[:NAMED]]
    return "; ".join(named) + (f"; and {len(keys) - NAMED} more keys" if len(keys) > NAMED else "")


def flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """A nested value as keys with dots and single values."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for index, inner in enumerate(value):
            yield from flat(inner, f"{key}[{index}]")
    else:
        yield key, json.dumps(value, ensure_ascii=False, default=str)


def body(scenario: str) -> str:
    """A resolved scenario without the line that says which version resolved it."""
    return scenario.partition("\n")[2] if scenario.startswith("# Resolved by ") else scenario


def is_finished(path: Path) -> bool:
    """True if the run in a folder came to its end."""
    try:
        return bool(json.loads(read_text(path / SUMMARY))["ended"] not in ended.CUT_OFF)
    except (OSError, LookupError, RecursionError, TypeError, ValueError):
        return False


def spare(path: Path) -> Path:
    """A free name beside a folder: `incast-2`, `incast-3` and so on."""
    place = path.resolve() if path.is_symlink() else path
    free = (place.with_name(f"{place.name}-{number}") for number in count(2))
    return next(beside for beside in free if not os.path.lexists(beside))


def cant_write(path: Path, error: OSError) -> Error:
    """The error that says why results can't be written."""
    return Error(f"{path}: can't write the results: {error.strerror or error}")
