"""The time until flows are whole again, as `ours/failures` measures it, in cases with a known answer."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from clearway.reproduce.ours.failures import EVERY_S, FAILS_S, jobs, settled, wants

#: Intervals before the failure, and all of them.
BEFORE, ALL = round(FAILS_S / EVERY_S), 100


def rates(low: float, until: int) -> np.ndarray:
    """A rate of 100 that falls to `low` at the failure and is back `until` intervals later."""
    found = np.full(ALL, 100.0)
    found[BEFORE : BEFORE + until] = low
    return found


def test_flows_that_lose_nothing_are_whole_at_once() -> None:
    links = np.full(ALL, 4.0)
    assert settled(rates(100, 0), links, np.full(ALL, 1000.0)) == 0


def test_flows_are_whole_again_when_an_average_of_five_intervals_has_nine_tenths() -> None:
    # A rate of zero for ten intervals: the first average without any of them ends five intervals later.
    links = np.full(ALL, 4.0)
    assert math.isclose(settled(rates(0, 10), links, np.full(ALL, 1000.0)), 1e6 * 15 * EVERY_S)


def test_what_the_links_that_are_left_carry_is_enough() -> None:
    links, left = np.full(ALL, 4.0), np.full(ALL, 75.0)
    assert settled(rates(70, ALL), links, left) == 0
    assert math.isinf(settled(rates(60, ALL), links, left))


def test_flows_that_have_ended_are_not_missed() -> None:
    links = np.full(ALL, 4.0)
    links[50:] = 2.0
    total = rates(100, 0)
    total[50:] = 50.0
    assert settled(total, links, np.full(ALL, 1000.0)) == 0


def test_flows_can_fill_as_many_links_as_the_fewer_of_their_ends() -> None:
    flows = pl.DataFrame({"src": ["h1", "h2", "h3"], "dst": ["h0", "h0", "h4"]})
    assert wants(flows) == 2
    assert wants(flows.head(2)) == 1
    assert wants(flows.head(0)) == 0


def test_every_failure_has_the_same_run_without_it() -> None:
    labels = [tuple(job.params.values()) for job in jobs("quick")]
    assert len(set(labels)) == len(labels)
    for traffic, failure, policy, seed in labels:
        assert (traffic, "none", policy, seed) in labels, failure
