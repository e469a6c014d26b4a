"""The planner against closed forms, and its command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli

from clearway.command import guarded
from clearway.plan import choices, pacc
from clearway.plan.expresspass import Parameters, trajectory
from clearway.plan.pacc import Loop


def test_alpha_star_is_the_appendix_value() -> None:
    assert pacc.alpha_star() == pytest.approx(0.04714, abs=5e-6)


def test_gain_and_zero_are_those_below_equation_16() -> None:
    loop = Loop(alpha=0.04714)
    assert loop.gain == pytest.approx(3.125e6 * 0.05 * 0.04714 / (2 * 6.4e-9))
    assert loop.zero == pytest.approx(5000)


@pytest.mark.parametrize(
    ("unit", "sign", "margin"),
    [("KB", "printed", 53), ("packets", "printed", 66), ("KB", "negative-feedback", -127)],
)
def test_margins_at_the_default_are_those_of_algorithms_md(unit: choices.Unit, sign: choices.Sign, margin: int) -> None:
    assert round(Loop(unit=unit, sign=sign).margins().phase_deg) == margin


def test_nothing_is_stable_in_bytes() -> None:
    assert Loop(unit="bytes").margins().phase_deg < -2000


@pytest.mark.parametrize("unit", pacc.UNITS)
@pytest.mark.parametrize("sign", choices.SIGNS)
@pytest.mark.parametrize("betas", [(0.05, 0.1), (1, 1), (0.001, 1), (1, 0), (1e-6, 1e-6)])
def test_response_and_closed_form_agree(unit: choices.Unit, sign: choices.Sign, betas: tuple[float, float]) -> None:
    loop = Loop(*betas, unit=unit, sign=sign)
    found = loop.margins()
    omega = found.crossover_rad_s
    assert loop.gain * math.hypot(1, omega / loop.zero) / omega**3 == pytest.approx(1)
    assert found.phase_deg == pytest.approx(pacc.closed_form_deg(loop, omega))


def test_ordinary_feedback_is_stable_nowhere() -> None:
    grid = np.linspace(0.02, 1, 8)
    assert (pacc.margin_grid(Loop(sign="negative-feedback"), grid, grid) < 0).all()


def test_figure_5_falls_with_beta1_and_its_default_is_stable() -> None:
    row = pacc.margin_grid(Loop(), np.linspace(0.02, 1, 20), [0.1])[0]
    assert (np.diff(row) < 0).all()
    assert row[0] > 0 > row[-1]


def test_gain_margin_is_what_takes_the_loop_to_the_edge() -> None:
    loop = Loop()
    more = Loop(rate_bps=loop.rate_bps * 10 ** (loop.margins().gain_db / 20))
    assert more.margins().phase_deg == pytest.approx(0, abs=1e-6)


def test_the_printed_loop_has_a_growing_root() -> None:
    loop = Loop()
    s = loop.growth()
    assert s**3 == pytest.approx(loop.gain * (1 + s / loop.zero) * math.exp(-2 * s * loop.period_s))


@pytest.mark.parametrize("flows", [3, 4, 16, 64])
@pytest.mark.parametrize("start", choices.STARTS)
def test_rates_alternate_between_the_fixed_points(flows: int, start: choices.Start) -> None:
    p = Parameters(flows)
    found = trajectory(p, 2000, start)
    decrease = -1 if not found.increased[-1] else -2
    assert found.rates[decrease] == pytest.approx(1.1 / flows)
    assert found.rates[-3 - decrease] == pytest.approx(1.1 / flows * (1 + (flows - 1) * 0.01))
    assert found.steps[-2:] == pytest.approx(p.d_star)
    assert p.d_star == pytest.approx(1.1 * 0.01 * (1 - 1 / flows))
    assert p.alternates


def test_two_flows_do_not_settle_and_w_jumps_every_11_updates() -> None:
    found = trajectory(Parameters(2), 300)
    assert not found.parameters.alternates
    assert found.parameters.needed == pytest.approx(1 / 99)
    assert found.repeats_every == 11
    assert found.w[100:].max() == pytest.approx(0.255)


def test_two_flows_settle_with_a_larger_w_min() -> None:
    p = Parameters(2, w_min=0.011, w_init=0.0625)
    found = trajectory(p, 500)
    assert p.alternates
    assert found.repeats_every is None
    assert found.steps[-1] == pytest.approx(p.d_star)


def test_a_lone_flow_that_others_join_has_all() -> None:
    found = trajectory(Parameters(2), 1, "newcomer")
    assert found.rates[0] == pytest.approx([1.1, 1 / 16])
    assert found.w[0] == pytest.approx([0.5, 1 / 16])


def test_settling_is_when_decreases_stay_in_the_band() -> None:
    found = trajectory(Parameters(3), 300, "newcomer")
    assert found.settled is not None
    decreases = [t for t in range(1, 301) if not found.increased[t]]
    assert all(found.off[t] <= 0.1 for t in decreases if t >= found.settled)
    assert found.off[max(t for t in decreases if t < found.settled)] > 0.1
    assert trajectory(Parameters(3), 20, "newcomer").settled is None


def test_pacc_tells_the_flaw_where_its_answer_is(cli: Cli) -> None:
    done = cli("plan", "stability", "pacc")
    assert done.returncode == 0, done.stderr
    assert "+53.1 degrees" in done.stdout
    for word in ("PACC-3", "-126.9 degrees", "PACC-1"):
        assert word in done.stdout


def test_pacc_json_is_json(cli: Cli) -> None:
    words = ["--beta1", 0.2, "--rate", "100 Gbps", "--period", "20us", "--queue-unit", "packets"]
    answer = json.loads(cli("plan", "stability", "pacc", *words, "--json").stdout)
    assert answer["phase_margin_deg"] == pytest.approx(answer["phase_margin_by_hand_deg"])
    assert answer["rate_bps"] == 1e11
    assert answer["period_s"] == pytest.approx(2e-5)


def test_expresspass_beside_the_simulator(cli: Cli, tmp_path: Path) -> None:
    done = cli("plan", "stability", "expresspass", "--flows", 2, "--periods", 60, "--simulate", "--out", "two.svg")
    assert done.returncode == 0, done.stderr
    for word in ("E17-4", "every 11 updates", "Simulator"):
        assert word in " ".join(done.stdout.split())
    assert (tmp_path / "two.svg").read_text().startswith("<svg")
    options = [
        "--flows",
        3,
        "--periods",
        40,
        "--start",
        "newcomer",
        "--simulate",
        "--feedback",
        "sigcomm17-matched",
        "--json",
    ]
    answer = json.loads(cli("plan", "stability", "expresspass", *options).stdout)
    assert np.shape(answer["rates"]) == (41, 3)
    assert np.shape(answer["simulated_rates"]) == (41, 3)
    assert answer["simulated_rates"][0][2] == pytest.approx(1 / 16)


@pytest.mark.slow
def test_pictures_are_svg_and_png(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.svg", "a.png"):
        done = cli("plan", "stability", "pacc", "--sign", "negative-feedback", "--out", name)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "right"),
    [
        (["pacc", "--rate", "25"], "'25 Gbps'"),
        (["pacc", "--rate", "0 Gbps"], "above 0"),
        (["pacc", "--period", "80 Gbps"], "'80 us'"),
        (["pacc", "--beta1", "0"], "above 0"),
        (["pacc", "--beta2", "nan"], "from 0 to 100"),
        (["pacc", "--alpha", "0.1", "--tau", "1 us"], "give it or them"),
        (["pacc", "--tau", "1 ms"], "at most 1"),
        (["pacc", "--queue-unit", "MB"], "'KB'"),
        (["pacc", "--out", "a.pdf"], ".svg or .png"),
        (["pacc", "--out", "nowhere/a.svg"], "make it first"),
        (["expresspass"], "--flows"),
        (["expresspass", "--flows", "1"], "2<=x"),
        (["expresspass", "--flows", "4", "--w-min", "0.1"], "w_min <= w_init <= w_max"),
        (["expresspass", "--flows", "10000", "--periods", "10000"], "fewer periods"),
        (["expresspass", "--flows", "10000", "--simulate"], "100,000"),
        (["expresspass", "--flows", "2", "--feedback", "sigcomm17"], "add --simulate"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    right: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["clearway", "plan", "stability", *options])
    assert guarded() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert right in said.err
    assert list(tmp_path.iterdir()) == []
