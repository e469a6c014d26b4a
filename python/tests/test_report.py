"""The report page."""

from __future__ import annotations

import base64
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from test_same_everywhere import PROBES

import clearway
from clearway import metrics, units
from clearway.findings import findings
from clearway.groups import Group, Variation, group
from clearway.report import figures, page, write_page
from clearway.report.html import found, prose
from clearway.report.live import live
from clearway.report.network import networks
from clearway.report.style import Palette
from clearway.view import bundle


@pytest.fixture(scope="module")
def both() -> list[clearway.Run]:
    return list(clearway.compare(SMALL + PROBES, ["expresspass", "dctcp"]).runs.values())


@pytest.fixture(scope="module")
def text(both: list[clearway.Run]) -> str:
    """The page of both; to draw it takes a second."""
    return page(both)


def test_the_page_needs_no_network(both: list[clearway.Run]) -> None:
    text = page(both, "A <title>")
    links = re.findall(r"(?:src|href)=\"([^\"#][^\"]*)\"", text)
    assert all(link.startswith("data:") for link in links)
    assert "<script" not in text
    assert "url(http" not in text
    assert "A &lt;title&gt;" in text


def test_a_page_begins_with_what_was_found_and_tables_fold(both: list[clearway.Run], text: str) -> None:
    assert "<title>small: expresspass and dctcp</title>" in text
    found = [prose(one) for one in findings(both)]
    places = [text.index(one) for one in found]
    assert len(found) >= 2
    assert places == sorted(places)
    assert places[-1] < text.index("<svg") < text.index("<table")
    assert text.count("<table") == text.count("<details open><summary>") + text.count("<summary>Network, losses")


def test_warnings_stand_below_what_was_found_and_say_code_as_code() -> None:
    text = found(["A `b` of 5 KB."], ["Mind `c`."])
    assert "<li>A <code>b</code> of 5\xa0KB.</li>" in text
    assert "<strong>Warning.</strong> Mind <code>c</code>." in text
    assert text.index("<li>") < text.index("Warning")
    assert found([], []) == ""


def test_the_network_is_drawn_with_its_hot_ports_in_one_scale(both: list[clearway.Run], text: str) -> None:
    pictures = [base64.b64decode(data).decode() for data in re.findall(r"base64,([^\"]+)", text)]
    assert len(pictures) == 2
    widths = [max(map(float, re.findall(r'class="hot" stroke-width="([\d.]+)"', one))) for one in pictures]
    queues = [metrics.switch_ports(run.ports)["queue_max_bytes"].max() for run in both]
    assert (widths[0] < widths[1]) == (queues[0] < queues[1])  # type: ignore[operator]
    assert max(widths) == pytest.approx(6.2)
    for run, picture, most in zip(both, pictures, queues, strict=True):
        assert f">{run.label}</text>" in picture
        assert 'class="rate queue" font-weight="600" text-anchor="middle"' in picture
        assert f">{units.size(most)}</text>" in picture  # type: ignore[arg-type]


def test_all_pictures_have_letters_of_one_size(text: str) -> None:
    assert {*re.findall(r'style="min-width:(\d+)px', text)} == {str(round(figures.WIDTH * 60))}


def test_the_picture_of_a_network_that_is_gone_is_left_out(both: list[clearway.Run]) -> None:
    gone = dataclasses.replace(both[0], scenario=both[0].scenario.replace('kind = "', 'kind = "no-'))
    assert networks({"a": gone}) == ""
    assert networks({str(number): both[0] for number in range(5)}) == ""
    assert networks({"a": both[0]}) != ""


def test_a_report_leads_to_a_live_page_beside_it(
    both: list[clearway.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [run.save(tmp_path / run.label) for run in both]
    monkeypatch.setattr(bundle, "is_there", lambda: True)
    monkeypatch.setattr(bundle, "page", lambda: '<head><meta charset="utf-8"></head>')
    assert '<a href="page-live.html">' in live(folders, tmp_path / "page.html")
    written = (tmp_path / "page-live.html").read_text("utf-8")
    assert all(run.hash in written for run in both)


def test_a_report_names_the_command_where_there_can_be_no_live_page(
    both: list[clearway.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = both[0].save(tmp_path / "a run")
    monkeypatch.setattr(bundle, "is_there", lambda: False)
    assert f"<code>clearway view &#x27;{folder}&#x27;</code>" in live([folder], tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["a run"]


def test_pictures_take_their_colours_from_the_page(text: str) -> None:
    assert text.count("<svg") >= 4
    assert "prefers-color-scheme:dark" in text
    assert "var(--t0)" in text
    assert not re.search(r"#0[1-5]0[0-9a-f]{3}\b", text)


def test_the_page_is_the_same_for_the_same_runs(both: list[clearway.Run], text: str) -> None:
    assert page(both) == text


def test_runs_without_a_finished_flow_make_a_page(tmp_path: Path) -> None:
    run = clearway.run(SMALL, set={"stop": "1 us"})
    assert "small" in write_page([run], tmp_path / "page.html").read_text("utf-8")


def test_runs_over_three_values_of_a_key_are_a_sweep() -> None:
    runs = [
        clearway.run(SMALL, transport=transport, set={"traffic.burst.senders": senders})
        for senders in (9, 3, 27)
        for transport in ("dctcp", "expresspass")
    ]
    (sweep,) = group(runs)
    assert isinstance(sweep, Variation)
    assert sweep.values == [3, 9, 27]
    assert [x for x, _ in sweep.lines["dctcp"]] == [3, 9, 27]
    assert "senders" in page(runs, "Sweep")


def test_values_of_a_key_are_those_of_the_resolved_scenario_in_base_units() -> None:
    sizes = ("500 KB", "2 MB", "0.001 MB")
    (sweep,) = group([clearway.run(SMALL, set={"traffic.burst.size": size}) for size in sizes])
    assert isinstance(sweep, Variation)
    assert (sweep.values, sweep.unit) == ([1000, 500_000, 2_000_000], "B")
    (losses,) = group([clearway.run(SMALL, set={"transport.jitter": text}) for text in ("1e-3", "0.01", "2e-2")])
    assert isinstance(losses, Variation)
    assert losses.values == [0.001, 0.01, 0.02]


def test_several_seeds_are_one_line_with_a_band_and_no_zig_zag() -> None:
    runs = [
        clearway.run(SMALL, seed=seed, set={"traffic.burst.size": size})
        for seed in (1, 2, 3)
        for size in ("500 KB", "2 MB", "64 KB")
    ]
    (sweep,) = group(runs)
    assert isinstance(sweep, Variation)
    figure = figures.swept(sweep.lines, sweep.key, "fct_mean", Palette(sweep.lines), sweep.unit)
    (axes,) = figure.axes
    (line,) = axes.lines
    assert np.asarray(line.get_xdata()).tolist() == [64_000, 500_000, 2_000_000]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["64 KB", "500 KB", "2 MB"]
    assert len(axes.collections) == 1
    of_small = [metrics.mean(run.flows["fct_s"].to_numpy()) for run in runs if run.flows["size_bytes"][0] == 64_000]
    assert np.asarray(line.get_ydata())[0] == pytest.approx(sum(of_small) / 3)


def test_runs_that_differ_in_seed_are_told_apart() -> None:
    (found,) = group([clearway.run(SMALL, seed=seed) for seed in (1, 2)])
    assert isinstance(found, Group)
    assert list(found.runs) == ["expresspass, seed 1", "expresspass, seed 2"]
