"""Pictures of runs as matplotlib figures, and what notebooks show of runs."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from test_same_everywhere import PROBES

import clearway
from clearway import bars
from clearway.bars import NotebookBar, in_notebook
from clearway.report.style import OWN, PAIRS

SAMPLED = SMALL + PROBES + '[[sample]]\nwhat = "sender"\nevery = "5 us"\n'


def ends(line: Line2D) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points of a line."""
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


@pytest.fixture(scope="module")
def both() -> clearway.Comparison:
    return clearway.compare(SAMPLED, ["expresspass", "dctcp"])


def test_completion_times_are_drawn_up_to_the_last_flow(both: clearway.Comparison) -> None:
    axes = both.plot.fct().axes[0]
    assert axes.get_xlabel() == "flow completion time"
    for label, line in zip(both.runs, axes.lines, strict=True):
        x, y = ends(line)
        assert x[-1] == both.runs[label].flows["fct_s"].max()
        assert y[-1] == 1
        assert to_hex(line.get_color()) == PAIRS[OWN[label]][0]


def test_the_module_of_pictures_is_there_without_an_import_of_its_own() -> None:
    script = "import clearway; print(clearway.plot.look('dctcp')['color'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == PAIRS[OWN["dctcp"]][0]


def test_slowdowns_of_flows_of_one_size_are_one_point(both: clearway.Comparison) -> None:
    for line in both.plot.slowdown().axes[0].lines:
        assert len(ends(line)[0]) == 1


def test_queues_are_drawn_whole_for_each_run(both: clearway.Comparison) -> None:
    figure = both.plot.queue()
    assert len(figure.axes) == 2
    for label, axes in zip(both.runs, figure.axes, strict=True):
        most = both.runs[label].samples.filter(quantity="queue_bytes")["value"].max()
        scale = {"B": 1, "KB": 1e3}[re.findall(r"\((.*)\)", axes.get_ylabel())[0]]
        drawn = max(ends(line)[1].max() for line in axes.lines)
        assert drawn * scale == pytest.approx(most)
        assert axes.get_ylim()[1] >= drawn


def test_rates_are_of_the_kind_that_was_asked_for(both: clearway.Comparison) -> None:
    run = both.runs["expresspass"]
    assert "throughput" in run.plot.rates().axes[0].get_ylabel()
    assert "rate" in run.plot.rates(what="sender").axes[0].get_ylabel()


def test_a_picture_without_samples_says_which_to_add(both: clearway.Comparison) -> None:
    run = clearway.run(SMALL)
    with pytest.raises(clearway.Error, match=r'small: no samples .* \[\[sample\]\] with what = "queue"'):
        run.plot.queue()
    with pytest.raises(clearway.Error, match=r'with what = "sender"'):
        run.plot.rates(what="sender")
    with pytest.raises(clearway.Error, match=r"what = 'speed': must be one of throughput, sender, rate"):
        run.plot.rates(what="speed")
    with pytest.raises(clearway.Error, match=r"series = 'nothing': no such samples; there are "):
        both.plot.queue("nothing")


def test_a_missing_matplotlib_is_one_line(monkeypatch: pytest.MonkeyPatch, both: clearway.Comparison) -> None:
    for name in [*sys.modules]:
        if name.startswith(("clearway.report", "matplotlib")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(clearway.Error, match=r"pictures need matplotlib, which is not installed: pip install"):
        both.plot.fct()


def test_a_figure_can_be_saved(both: clearway.Comparison, tmp_path: Path) -> None:
    both.plot.fct().savefig(tmp_path / "fct.svg")
    text = (tmp_path / "fct.svg").read_text("utf-8")
    assert not re.search(r"#0[1-5]0[0-9a-f]{3}\b", text)


def test_a_notebook_shows_tables_and_pictures_that_need_no_network(both: clearway.Comparison) -> None:
    shown = both._repr_html_()
    assert shown.count("<table>") == 2
    assert shown.count("<svg") == 3
    assert "expresspass" in shown
    assert "maximum queue" in shown
    assert not re.findall(r"(?:src|href)=\"([^\"#][^\"]*)\"", shown)
    assert "<script" not in shown
    assert not re.search(r"#0[1-5]0[0-9a-f]{3}\b", shown)


def test_a_notebook_shows_names_as_text() -> None:
    shown = clearway.run(SMALL.replace('"small"', '"a & <b>"'))._repr_html_()
    assert "a &amp; &lt;b&gt;" in shown
    assert "<b>" not in shown


def test_a_run_without_a_finished_flow_has_a_table() -> None:
    shown = clearway.run(SMALL, set={"stop": "1 us"})._repr_html_()
    assert shown.count("<table>") == 1


class Shell:
    """The shell of a notebook's kernel."""

    kernel = None


class Element:
    """What `IPython.display.display` returns."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, text: str) -> None:
        self.shown.append(text)


def test_a_notebook_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    element = Element()
    display = types.SimpleNamespace(HTML=str, display=lambda *_, **__: element)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=Shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert in_notebook()
    bar = NotebookBar()
    bar.show("a <run>", 0.5, "half")
    assert element.shown == ['<div>a &lt;run&gt; <progress max=1 value="0.5000"></progress> half</div>']
    clearway.run(SMALL, progress=True)
    assert element.shown[-1] == ""


@dataclass
class At:
    """A progress."""

    now_s: float = 0.5
    stop_s: float | None = None
    link_transmissions: int = 6_000_000
    flows_completed: int = 0
    flows_expected: int | None = None


def test_progress_is_told_as_time_speed_and_time_left() -> None:
    def said(progress: At) -> str:
        return ", ".join(bars.details(progress, 2.0))  # type: ignore[arg-type]

    assert said(At(stop_s=2.0)) == "simulated 500 ms, 250 ms a second, 3.00 M link tx/s, 0 flows, 0:06 left"
    assert said(At(flows_completed=1, flows_expected=7201)).endswith("1/7,201 flows, 4:00:00 left")
    assert said(At(stop_s=1.0, flows_completed=9, flows_expected=10)).endswith("0:00 left"), "the flows end it first"
    assert said(At(flows_expected=10)).endswith("0/10 flows, time left unknown")
    assert said(At(flows_completed=3)).endswith("3 flows, time left unknown")


def test_a_long_run_writes_a_line_a_minute_where_no_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 59.9, 60.0, 61.0, 119.9, 121.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds))
    with bars.progress_bar(quiet=False) as bar:
        update = bar.start("small")
        assert update is not None
        for _ in range(5):
            update(At(stop_s=1.0))  # type: ignore[arg-type]
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["1:00 left", "2:01 left"]
    assert lines[0].startswith("small: simulated 500 ms, 8.33 ms a second, ")


def test_no_bar_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    clearway.run(SMALL, progress=True)
    clearway.compare(SMALL, ["dctcp"], progress=True)
    assert capfd.readouterr() == ("", "")
