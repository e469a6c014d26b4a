"""The common ground of the figures of HotNets'16: its transport, and networks with its credit queue of 16."""

from __future__ import annotations

from typing import Any

#: The paper's transport; its credit queue of 16, jitter of 1 % and least timeout of 200 us are defaults.
EXPRESSPASS: dict[str, Any] = {"name": "expresspass-hotnets16"}
#: Naive credits at the paper's ports.
NAIVE: dict[str, Any] = {"name": "naive-credit", "credit_queue": 16}
#: The change by which a full credit queue drops one of its credits at random (E17-32).
RANDOM_DROPS: dict[str, Any] = {"credit_drop": "random"}
#: The least timeout that the paper gives, for the transports that have one.
RTO: dict[str, Any] = {"rto_min": "200 us"}

ABOUT = """\
**Transport.** `expresspass-hotnets16` with its defaults: halfway to the link's rate, or down to what arrived; the first
rate is half of the link's (unstated); 16 credits a port, credits of 84 B, jitter of 1 %.
"""
