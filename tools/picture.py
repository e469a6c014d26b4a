"""Draws the README's picture from the runs of `make run`: `python tools/picture.py out/demo docs/img/incast.svg`."""

import sys
from pathlib import Path

import clearway
from clearway import folder
from clearway.groups import Variation, group
from clearway.report.figures import trade
from clearway.report.style import Palette, drawing, standalone, svg


def main(results: str, picture: str) -> None:
    """Finds the incast among the results and draws its queue and its completion time against its fan-out."""
    runs = [clearway.load(path) for path in folder.find_runs(Path(results))]
    variation = next(part for part in group(runs) if isinstance(part, Variation))
    with drawing():
        figure = trade(variation.lines, variation.key, Palette(variation.lines))
        Path(picture).write_text(standalone(svg(figure)), "utf-8")


main(*sys.argv[1:])
