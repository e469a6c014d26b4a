"""Figures of EC4: what their scenarios are made of, and what is computed from their runs."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.reproduce.ec4 import common, fig04, fig07, realistic


def test_halves_of_the_pairs_and_of_the_hosts_meet_without_overlap() -> None:
    scenario = {
        "stop": "300 us",
        "topology": common.dumbbell(6),
        "traffic": [common.half("first", common.EC4), common.half("second", common.DCTCP, second=True)],
    }
    flows = clearway.run(scenario).flows
    assert flows.sort("src")["traffic"].to_list() == ["first"] * 3 + ["second"] * 3

    tree = realistic.scenario(common.EC4, "web-search", 0.6, "quick")
    small = {**tree, "traffic": [{**part, "flows": 400, "size": "10 KB"} for part in tree["traffic"]]}
    for part in small["traffic"]:
        del part["workload"]
    flows = clearway.run(small).flows
    ends = {name: set(part["src"]) | set(part["dst"]) for (name,), part in flows.group_by("traffic")}
    assert not ends["compared"] & ends["windows"]
    assert len(ends["compared"] | ends["windows"]) > 180


def test_in_the_shuffle_the_sender_decides_and_everybody_receives() -> None:
    (job, *_) = fig07.jobs("quick")
    heavy = [part for part in job.scenario["traffic"] if part["name"].startswith("heavy")]
    tiny = [{**part, "size": "1 KB", "tasks": 1} for part in heavy]
    flows = clearway.run({**job.scenario, "traffic": tiny}).flows
    senders = {name: set(part["src"]) for (name,), part in flows.group_by("traffic")}
    assert [len(hosts) for hosts in senders.values()] == [20, 20]
    assert not set.intersection(*senders.values())
    assert all(part["dst"].n_unique() == fig07.HOSTS for _, part in flows.group_by("traffic"))


def test_the_omega_of_equal_shares_balances_both_increases() -> None:
    for flows in fig04.FEW:
        omega, each, frames = fig04.fair_omega(flows), flows / 2, 128
        rate = 0.5 / each
        window = frames * rate
        assert omega * (1 / rate - 1) == pytest.approx(1 / window)


def test_a_sweep_is_crossed_where_the_ratio_is_one() -> None:
    # A ratio that rises with the square root of omega_mid, and is 1 at 0.02.
    rows = [
        {"kind": "omega", "transport": f"x, {omega}", "flows": 2, "ratio": math.sqrt(omega / 0.02)}
        for omega in fig04.OMEGAS
    ]
    tables = {"rows": pl.DataFrame(rows)}
    assert fig04.crossing(tables, "x", 2) == pytest.approx(0.02)
    flat = {"rows": tables["rows"].with_columns(pl.lit(2.0).alias("ratio"))}
    assert math.isnan(fig04.crossing(flat, "x", 2))


def test_fig_3_is_run_checked_and_drawn(tmp_path: Path) -> None:
    found = reproduce.reproduce("ec4/fig03", out=tmp_path, processes=1)
    by = {one.claim.id: one for one in found.findings}
    assert by["fig03-expresspass-starves-dctcp"].verdict == "reproduced"
    assert all(path.exists() for path in found.files)


def test_every_claim_of_ec4_is_checked_by_a_figure() -> None:
    sources = [path.read_text("utf-8") for path in Path(common.__file__).parent.glob("fig*.py")]
    for name in reproduce.claims("ec4"):
        checked = any(name in source for source in sources)
        assert checked or (
            name.startswith("fig07-shuffle-") and any('f"fig07-shuffle-{name}-fct"' in s for s in sources)
        )
