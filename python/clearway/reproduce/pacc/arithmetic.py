"""Closed calculations about the bursts of Fig. 1 to 3: the bounds that no run of the paper's set-up can pass.

They take the paper's numbers and the constants of DCQCN's and TIMELY's papers, and no run.
"""

from __future__ import annotations

import math

from clearway.reproduce.pacc.setup import FRAME, PAYLOAD

#: Bytes that a host link of 25 Gbps carries in a microsecond.
BYTES_PER_US = 25e3 / 8
BURSTS, BURST_BYTES = 9, 64_000
#: Links of 1 us between a host of another pod and the port of the receiver's ToR.
LINKS = 5
PERIOD_US = 80
#: From the bursts of Fig. 1 to the end of a period, which is a multiple of the period: 640 us.
NEXT_PERIOD_US = 40
#: DCQCN by its paper: notifications at least 50 us apart, increases each 55 us of which five lead back to the target,
#: and then steps of 40 Mbps.
CNP_US, STEP_US, RECOVERY, STEP_GBPS = 50, 55, 5, 0.04
#: TIMELY by its paper: the largest step, five times 10 Mbps, in each round trip of at least 12 us.
HYPER_GBPS, ROUND_TRIP_US = 0.05, 12


def sent_after_us() -> float:
    """The time in which a host has sent its burst, in frames, at line rate."""
    return math.ceil(BURST_BYTES / PAYLOAD) * FRAME / BYTES_PER_US


def heard_after_us() -> float:
    """The least time between the first packet of a host of another pod and a notification that it caused."""
    return 2 * LINKS


def waiting_kb(us: float) -> float:
    """The queue so long after it begins to grow if all nine bursts and the long flow have sent at line rate, in KB."""
    return BURSTS * BYTES_PER_US * us / 1e3


def least_after_kb(us: float) -> float:
    """The least queue so long after it begins to grow: it drains at line rate from when notifications can act."""
    return waiting_kb(heard_after_us()) - BYTES_PER_US * (us - heard_after_us()) / 1e3


def unfair_percent(from_us: float = 40, to_us: float = 200) -> float:
    """The most by which the long flow can be below the short ones in what the port sends in a time after the bursts
    begin, if DCQCN notifies it as early as it can, and no short flow at all.

    A notification halves the rate at most, and the next one comes 50 us later. All ten flows send at line rate until
    then, and packets leave in the order in which they came.
    """
    long = short = 0.0
    ends = sent_after_us()
    step, edges = 0.01, []
    for limit in (from_us * BYTES_PER_US, to_us * BYTES_PER_US):
        at = 0.0
        long = short = 0.0
        while long + BURSTS * short < limit:
            cuts = 0 if at < heard_after_us() else 1 + math.floor((at - heard_after_us()) / CNP_US)
            long += BYTES_PER_US * 0.5**cuts * step
            short += BYTES_PER_US * step * (at < ends)
            at += step
        edges.append((long, short))
    (long_from, short_from), (long_to, short_to) = edges
    return 100 * (1 - (long_to - long_from) / (short_to - short_from))


def arrives_kb() -> float:
    """The frames of the nine bursts and of the long flow when the last burst has left its host, in KB."""
    return (BURSTS + 1) * sent_after_us() * BYTES_PER_US / 1e3


def leaves_kb(us: float = 200) -> float:
    """The bytes that the port sends in a time, in KB."""
    return us * BYTES_PER_US / 1e3


def regained_by_dcqcn_gbps(us: float) -> float:
    """The rate that DCQCN's steps add to its target in a time: those after the increases that lead back to it."""
    return STEP_GBPS * max(0, math.floor(us / STEP_US) - RECOVERY)


def regained_by_timely_gbps(us: float) -> float:
    """The rate that TIMELY's largest steps add in a time."""
    return HYPER_GBPS * math.floor(us / ROUND_TRIP_US)
