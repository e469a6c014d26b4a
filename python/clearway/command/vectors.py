"""The command `clearway vectors`: test vectors for other implementations of Ultra Ethernet's congestion control."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.command.names import KnownList, Names
from clearway.command.shared import notes

EXAMPLES = """\b
Examples:
  clearway vectors
  clearway vectors --algorithm nscc --reading specification --out nscc
  clearway vectors --seed 7 --out more
\b
Then, with an adapter around your implementation:
  python3 out/vectors/check_vectors.py out/vectors/nscc.specification.json -- ./adapter
"""
#: The algorithms and the readings, which are those of `clearway.vectors`; a test compares them.
ALGORITHMS = {
    "nscc": "the window of a sender",
    "rccc": "the credit of a sender, the pulls of a receiver",
    "reps": "REPS and other choices of paths",
    "flow": "a whole sending end, and its packets",
}
READINGS = {
    "specification": "the Ultra Ethernet Specification 1.0.3, as far as it could be read",
    "htsim": "the consortium's simulator, uet-htsim 40ccb05",
}


def known_algorithms() -> Names:
    """The algorithms."""
    return ALGORITHMS


def known_readings() -> Names:
    """The readings."""
    return READINGS


@click.command(epilog=EXAMPLES)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/vectors"),
    show_default=True,
    help="Folder to write to.",
)
@click.option(
    "--algorithm",
    type=KnownList("algorithm", known_algorithms),
    default=",".join(ALGORITHMS),
    show_default=True,
    help="Algorithms, with commas between.",
)
@click.option(
    "--reading",
    type=KnownList("reading", known_readings),
    default=",".join(READINGS),
    show_default=True,
    help="Texts that they follow, with commas between.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed of the sequences that are drawn.",
)
def vectors(out: Path, algorithm: str, reading: str, seed: int) -> None:
    """Write test vectors of NSCC, RCCC, REPS and whole senders.

    Each file holds inputs (acknowledgements, NACKs, timeouts, demand, feedback on paths) and what the algorithm makes
    of each: window, credit, pulls, entropy values, packets. `check_vectors.py` beside them hands the inputs to a
    program of yours and finds the first output that differs; it needs Python alone. Equal options give equal bytes.
    """
    from clearway.vectors import CHECKER, write

    written = write(out, chosen(algorithm, "--algorithm"), chosen(reading, "--reading"), seed=seed)
    for path in written:
        click.echo(path)
    example = next(path for path in written if path.suffix == ".json")
    notes().print(f"Check with: python3 {out / CHECKER} {example} -- YOUR_ADAPTER", markup=False)


def chosen(names: str, option: str) -> list[str]:
    """The names of a list, none of which is empty or comes twice."""
    found = [name.strip() for name in names.split(",")]
    for name in found:
        if not name:
            raise click.UsageError(f"{option} {names!r}: a name is empty; write names with commas between")
        if found.count(name) > 1:
            raise click.UsageError(f"{option} {names!r}: {name} comes twice; name it once")
    return found
