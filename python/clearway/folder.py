"""Result folders: writing one so that it is whole or not there, and reading it."""

from __future__ import annotations

import io
import json
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from clearway import _clearway

if TYPE_CHECKING:
    from clearway.result import Columns, Run

TABLES = ("flows", "ports", "samples")
#: Written last and removed first: a folder that has it is whole.
SUMMARY = "summary.json"
FILES = ("scenario.toml", *(f"{table}.parquet" for table in TABLES), SUMMARY)
#: Where a parquet file keeps the units and meanings of its columns.
COLUMNS_KEY = "clearway.columns"


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    try:
        return "clearway" in json.loads((path / SUMMARY).read_text("utf-8"))
    except (OSError, ValueError):
        return False


def find_runs(path: Path) -> list[Path]:
    """The runs in a folder and the folders in it, sorted; the folder itself if it is one."""
    if is_run(path):
        return [path]
    return sorted(found.parent for found in path.rglob(SUMMARY) if is_run(found.parent))


def check_target(path: str | Path, *, force: bool = False) -> None:
    """Refuses a place where results must not be written."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise _clearway.Error(f"{path}: there is a file of this name; name a folder")
    if force or not path.exists() or not any(path.iterdir()) or is_run(path):
        return
    if all(child.is_dir() and is_run(child) for child in path.iterdir()):
        return
    raise _clearway.Error(
        f"{path}: this folder holds something other than results; name another, or use --force (nothing is deleted)"
    )


def save(run: Run, path: str | Path, *, force: bool = False) -> Path:
    """Writes a run to a folder.

    Everything is written to a folder beside it first. A new folder then appears at once; in one that exists, our
    files are replaced one by one, with the summary taken away before and put back last, and others are left alone.
    """
    path = Path(path)
    check_target(path, force=force)
    parent = path.resolve().parent
    scratch = parent / f".{path.resolve().name}.{secrets.token_hex(4)}.tmp"
    try:
        scratch.mkdir(parents=True)
        for name, content in contents(run).items():
            (scratch / name).write_bytes(content)
        if not path.exists():
            scratch.rename(path.resolve())
        else:
            (path / SUMMARY).unlink(missing_ok=True)
            for name in FILES:
                (scratch / name).replace(path / name)
    except OSError as error:
        raise _clearway.Error(f"{path}: can't write the results: {error.strerror}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return path


def contents(run: Run) -> dict[str, bytes]:
    """The files of a run. Those of the tables depend on scenario, seed and version alone."""
    files = {"scenario.toml": scenario_file(run).encode()}
    for table in TABLES:
        files[f"{table}.parquet"] = parquet(getattr(run, table), run.described.get(table, {}))
    files[SUMMARY] = (json.dumps(run.summary, indent=2, ensure_ascii=False) + "\n").encode()
    return files


def scenario_file(run: Run) -> str:
    """The resolved scenario with version and seed."""
    head = f"# Resolved by Clearway {run.summary['clearway']}, seed {run.summary['seed']}.\n"
    return run.scenario if run.scenario.startswith(head) else head + run.scenario


def parquet(table: pl.DataFrame, columns: dict[str, Any]) -> bytes:
    """A table as a parquet file that says itself what its columns mean."""
    meaning = {name: [column.unit, column.doc] for name, column in columns.items()}
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", metadata={COLUMNS_KEY: json.dumps(meaning)})
    return buffer.getvalue()


def load(path: str | Path) -> Run:
    """Reads a folder that `Run.save` or the command wrote."""
    from clearway.result import Described, Run

    path = Path(path)
    if not is_run(path):
        raise _clearway.Error(f"{path}: no results of a run here (no {SUMMARY} of Clearway's)")
    frames = {}
    described: Columns = {}
    try:
        summary = json.loads((path / SUMMARY).read_text("utf-8"))
        scenario = (path / "scenario.toml").read_text("utf-8")
        for table in TABLES:
            file = path / f"{table}.parquet"
            frames[table] = pl.read_parquet(file)
            meaning = json.loads(pl.read_parquet_metadata(file).get(COLUMNS_KEY, "{}"))
            described[table] = {name: Described(unit, doc) for name, (unit, doc) in meaning.items()}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise _clearway.Error(f"{path}: can't read the results: {' '.join(str(error).split())}") from None
    return Run(name=summary["scenario"], summary=summary, scenario=scenario, described=described, **frames)
