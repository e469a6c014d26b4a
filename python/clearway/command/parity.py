"""The command `clearway parity`: completion times beside those of the authors' simulators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway import units
from clearway._clearway import Error
from clearway.command.shared import console, print_json
from clearway.command.tables import print_heading, print_texts

if TYPE_CHECKING:
    from clearway.parity import Case, FlowList, Row
    from clearway.texts import Texts

EXAMPLES = """\b
Examples:
  clearway parity
  clearway parity ns2 --list web-search-1
  clearway parity ns2 --flows mine.csv
  clearway parity hpcc-ns3-dcqcn
  clearway parity hpcc-ns3 --flows flow.txt
"""


@click.command(epilog=EXAMPLES)
@click.argument("case", required=False, metavar="[CASE]")
@click.option("--flows", type=click.Path(path_type=Path), help="Run this list of flows instead of the case's own.")
@click.option("--list", "only", metavar="NAME", help="Run only this one of the case's lists.")
@click.option("--seeds", type=click.IntRange(1, 1000), help="Runs of each list.  [default: as the documents have it]")
@click.option("--write", type=click.Path(path_type=Path), help="Write the case's lists to this folder; run nothing.")
@click.option("--docs", type=click.Path(path_type=Path), help="Write the tables to this page of documents.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def parity(
    case: str | None,
    flows: Path | None,
    only: str | None,
    seeds: int | None,
    write: Path | None,
    docs: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare completion times with those of a transport's authors' simulator, on the same lists of flows.

    Prints mean and 99th percentile by size, means over the seeds, beside numbers that were measured with their
    simulator, each with its 95 % interval. They agree if the intervals overlap. A 99th percentile needs 500 flows.
    Returns 1 if a row differs by more than 0.5 % for a reason that is not known. All cases without CASE.

    --flows takes CSV with the columns start_ns,src,dst,size_bytes (or any that `clearway run` reads) or a file in the
    format of the authors' simulator.
    """
    from clearway.bars import progress_bar
    from clearway.parity import CASES, find
    from clearway.parity.lists import compare, own_list
    from clearway.parity.page import rewrite

    cases = find(case)
    if (flows is not None or only is not None) and case is None:
        raise click.UsageError(f"--flows and --list need a CASE: {', '.join(CASES)}")
    if write is not None:
        return write_lists(cases, write, quiet=quiet)
    if docs is not None and not docs.is_file():
        raise Error(f"{docs}: there is no such file; name a page of documents, such as docs/parity.md")
    answers, agree = [], True
    with progress_bar(quiet=quiet or as_json) as bar:
        for one in cases:
            if flows is not None:
                parts = [own_list(one, flows, seeds=seeds, progress=bar.start)]
            else:
                parts = [compare(one, part, seeds=seeds, progress=bar.start) for part in chosen(one, only)]
            answers.append((one, parts))
            agree &= all(row.passes for rows in parts for row in rows)
    if docs is not None and flows is None and only is None:
        for one, parts in answers:
            rewrite(docs, one, parts)
    if as_json:
        print_json([as_dict(one, parts) for one, parts in answers])
    else:
        for one, parts in answers:
            show(one, parts, quiet=quiet)
    return 0 if agree else 1


def chosen(case: Case, only: str | None) -> list[FlowList]:
    """The lists to run."""
    lists = [part for part in case.lists if only in (None, part.name)]
    if not lists:
        raise Error(f"list {only!r} of case {case.name}: write one of {', '.join(part.name for part in case.lists)}")
    return lists


def write_lists(cases: list[Case], folder: Path, *, quiet: bool) -> int:
    """Writes the lists, for the authors' simulator to run."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        for part in case.lists:
            path = folder / f"{case.name}-{part.name}.csv"
            sha256 = case.write(part, path)
            console(quiet=quiet).print(f"{path}  {sha256}", markup=False, soft_wrap=True)
    return 0


def as_dict(case: Case, parts: list[list[Row]]) -> dict[str, object]:
    """A case with its rows, for `--json`."""
    rows = [row.as_dict() for part in parts for row in part]
    return {"case": case.name, "simulator": case.simulator, "counted": case.counted, "rows": rows}


def show(case: Case, parts: list[list[Row]], *, quiet: bool) -> None:
    """Prints the tables of a case."""
    from clearway.parity.page import footnotes

    out = console(quiet=quiet)
    out.print()
    print_heading(out, case.title, f" ({case.simulator})")
    out.print(f"Completion times count {case.counted}.", markup=False)
    for rows in parts:
        out.print(f"\n{rows[0].flow_list}", markup=False)
        print_texts(out, row_texts(rows), left=1)
        for note in footnotes(rows)[1::2]:
            out.print(note, markup=False, highlight=False)


def row_texts(rows: list[Row]) -> Texts:
    """A list's rows as words."""
    from clearway.parity.page import columns

    if not any(row.measures for row in rows):
        head = ["size", "flows", "unfinished", "mean FCT", "p99 FCT"]
        return head, [[*ours(row), units.seconds(row.mean_s), own_p99(row)] for row in rows]
    each = ["theirs", "ratio", "verdict"]
    head = ["size", "flows", "unfinished", "mean FCT", *each, "p99 FCT", *each]
    return head, [[*ours(row), *columns(row, "mean"), *columns(row, "p99")] for row in rows]


def own_p99(row: Row) -> str:
    """The 99th percentile of a row without reference."""
    return units.seconds(row.p99_s) if row.has_p99 else units.NONE


def ours(row: Row) -> list[str]:
    """The first columns of a row: size, flows, and those that did not finish."""
    return [row.bucket, units.count(row.flows), units.count(row.unfinished)]
