"""Colours of pictures: each transport has its own look, and looks stay apart for every kind of colour vision."""

from __future__ import annotations

import importlib
import pkgutil
import re
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

import clearway
import clearway.reproduce
from clearway.report import style
from clearway.report.style import LINES, LOOKS, MARKERS, OWN, PAIRS, PAPERS, Palette, line_style, marker_style

Floats = NDArray[np.float64]

#: Severe colour blindness as a matrix on linear sRGB (Machado, Oliveira and Fernandes 2009, table 1).
VISION = {
    "trichromacy": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
#: Least distance of two colours in Delta-E 2000; neighbours in a picture are told apart from about 10 on.
APART = 14.0
#: Transports that the papers, or our figures, draw into one picture.
TOGETHER = (
    ("expresspass", "dctcp", "naive-credit", "expresspass-hotnets16", "cubic"),
    ("expresspass", "dctcp", "rcp", "dx", "hull"),
    ("expresspass-hotnets16", "dctcp", "dx", "hull"),
    ("ideal", "dctcp", "expresspass"),
    ("expresspass", "ec4", "pac", "pacc", "dctcp", "hpcc"),
    ("hpcc", "dcqcn", "timely", "rdma-dctcp", "pacc", "rocev2"),
    ("pac", "ictcp", "dctcp", "newreno", "ack-shaper", "fixed-window"),
    ("newreno", "cubic", "dctcp"),
)


def linear(color: str) -> Floats:
    """A colour such as `#1f6feb` as linear sRGB."""
    coded = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)


TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(rgb: Floats) -> Floats:
    """Linear sRGB as CIELAB under D65."""
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def delta_e(one: Floats, other: Floats) -> float:
    """CIEDE2000, as Sharma, Wu and Dalal (2005) write it."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    d_hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = (h1 + h2) / 2 if abs(h1 - h2) <= 180 else (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    t = 1 - 0.17 * np.cos(np.radians(hue - 30)) + 0.24 * np.cos(np.radians(2 * hue))
    t += 0.32 * np.cos(np.radians(3 * hue + 6)) - 0.20 * np.cos(np.radians(4 * hue - 63))
    rotation = -np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    rotation *= 2 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    x = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    y, z = (c2 - c1) / (1 + 0.045 * chroma), d_hue / (1 + 0.015 * chroma * t)
    return float(np.sqrt(x**2 + y**2 + z**2 + rotation * y * z))


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_distance_of_colours_is_that_of_the_published_table(
    one: tuple[float, ...], other: tuple[float, ...], distance: float
) -> None:
    assert delta_e(np.array(one), np.array(other)) == pytest.approx(distance, abs=1e-4)


@pytest.mark.parametrize(("dark", "vision"), list(product((False, True), VISION)))
def test_any_two_colours_stay_apart_and_apart_from_the_ink(dark: bool, vision: str) -> None:
    colors = [*(pair[dark] for pair in PAIRS), PAPERS[dark]["ink"]]
    seen = {color: lab(VISION[vision] @ linear(color)) for color in colors}
    near = {pair: delta_e(*(seen[one] for one in pair)) for pair in combinations(colors, 2)}
    pair = min(near, key=lambda one: near[one])
    assert near[pair] >= APART, f"{pair}: {near[pair]:.1f}"


@pytest.mark.parametrize("dark", [False, True])
def test_colours_stand_out_from_their_paper(dark: bool) -> None:
    paper = TO_XYZ[1] @ linear(PAPERS[dark]["paper"])
    for pair in PAIRS:
        low, high = sorted((paper, TO_XYZ[1] @ linear(pair[dark])))
        assert (high + 0.05) / (low + 0.05) >= 3.0, pair[dark]


def test_every_transport_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == {row["name"] for row in clearway.transports()}
    looks = {(number % len(PAIRS), str(line_style(number)), marker_style(number)) for number in LOOKS.values()}
    assert len(looks) == len(LOOKS)
    for color in range(len(PAIRS)):
        numbers = [number for number in LOOKS.values() if number % len(PAIRS) == color]
        assert len({str(line_style(number)) for number in numbers}) == len(numbers)
        assert len({marker_style(number) for number in numbers}) == len(numbers)
    assert len(LINES) > 2
    assert len(MARKERS) >= len(PAIRS)


@pytest.mark.parametrize("names", TOGETHER)
def test_transports_that_papers_compare_differ_in_colour(names: tuple[str, ...]) -> None:
    assert len({OWN[name] % len(PAIRS) for name in names}) == len(names)


def test_a_transport_looks_the_same_whatever_else_is_in_the_picture() -> None:
    for others in ([], ["dctcp"], ["cubic", "toy", "dctcp"], ["rcp", "newreno", "hpcc, seed 2"]):
        palette = Palette([*others, "hpcc"] if "hpcc, seed 2" not in others else ["hpcc", *others])
        assert palette.number("hpcc") == OWN["hpcc"]


def test_runs_of_one_transport_and_unknown_labels_take_colours_that_are_free() -> None:
    labels = ["dctcp, seed 1", "dctcp, seed 2", "expresspass", "my own law", "dctcp + cubic"]
    palette = Palette(labels)
    assert palette.number("dctcp, seed 1") == OWN["dctcp"]
    assert len({palette.number(label) % len(PAIRS) for label in labels}) == len(labels)


def test_figures_of_papers_draw_transports_in_their_own_looks() -> None:
    found = 0
    for module in pkgutil.walk_packages(clearway.reproduce.__path__, "clearway.reproduce."):
        colors = getattr(importlib.import_module(module.name), "COLORS", {})
        if isinstance(colors, dict):
            for name, number in colors.items():
                if name in OWN:
                    found += 1
                    assert number == OWN[name], f"{module.name}: {name}"
            shown = [number % len(PAIRS) for name, number in colors.items() if name in OWN]
            assert len(set(shown)) == len(shown), module.name
    assert found > 40


def test_a_stand_in_never_reaches_a_page() -> None:
    assert not re.search(r"#0501", style.variables(False) + style.variables(True))
