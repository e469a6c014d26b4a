"""The common ground of the paper's figures: its network, framing, switches and transports, as keys of scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clearway.report.style import own

#: The tree of sections II and V: 16 cores, 20 aggregation switches, 20 ToRs with 16 hosts each (h0 to h15 at tor0).
TREE: dict[str, Any] = {"kind": "pacc-320", "rate": "25 Gbps", "fabric_rate": "100 Gbps", "delay": "1 us"}
HOSTS_PER_TOR = 16

#: Frames of HPCC's ns-3 code, which the paper builds on; telemetry and timestamps come on top.
FRAMING: dict[str, Any] = {"payload": "1000 B", "overhead": "48 B", "wire_min": "60 B", "routing": "ecmp"}
PAYLOAD, FRAME = 1000, 1048
#: HPCC's 42 bytes of telemetry in each data packet.
FRAME_HPCC = FRAME + 42

#: Switches of the same code: priority flow control over 32 MB of shared memory.
SWITCH: dict[str, Any] = {"pfc": True, "shared_buffer": "32 MB"}

#: The longest base round-trip time of the tree, computed as that code does: twice six links of 1 us, and 1,000 bytes
#: on each once: 2 x 320 ns at hosts, 4 x 80 ns between switches.
BASE_RTT = "12.96 us"
#: Window at line rate: what 25 Gbps carry in that time.
WINDOW = "40500 B"

#: HPCC's increase by the rule of its paper, `W_AI = W_init (1 - eta) / N` for `N` = 100 flows: as a rate, 5 % of the
#: line over 100. The 80 B that it prints are that rule at 100 Gbps and 13 us.
HPCC_INCREASE = "12.5 Mbps"

#: The four transports that the paper compares, each with the parameters that its own paper suggests (sec. V-A).
TRANSPORTS: dict[str, dict[str, Any]] = {
    "dcqcn": {"name": "dcqcn"},
    "timely": {"name": "timely"},
    "hpcc": {"name": "hpcc", "max_stage": 5, "ai": HPCC_INCREASE, "base_rtt": BASE_RTT},
    "pacc": {"name": "pacc"},
}
#: The names of the baselines in the paper.
PAPER = {"DCQCN": "dcqcn", "TIMELY": "timely", "HPCC": "hpcc"}

#: HPCC's window in proportion to the rate, and HPCC's code under its own constants.
VARIABLE = {"windowing": "rate", "base_rtt": BASE_RTT}
CODE = "hpcc-ns3"
#: The constants of TIMELY's paper in place of the scaled ones of HPCC's code.
TIMELY_STEPS = {"ai": "10 Mbps", "hai": "50 Mbps", "increments_at": "0 bps"}

#: The transports under readings that the paper leaves room for, by name.
VARIANTS: dict[str, dict[str, Any]] = {
    **{
        f"{name}, hpcc-ns3": {"name": name, "profile": CODE} | ({"base_rtt": BASE_RTT} if name == "hpcc" else {})
        for name in TRANSPORTS
    },
    **{f"{name}, window": TRANSPORTS[name] | VARIABLE for name in ("dcqcn", "timely", "pacc")},
    "pacc, T_i 55 us": TRANSPORTS["pacc"] | {"increase_timer": "55 us"},
    "pacc, T_i 55 us, window": TRANSPORTS["pacc"] | VARIABLE | {"increase_timer": "55 us"},
    "hpcc, no window": TRANSPORTS["hpcc"] | {"windowing": "none"},
    # What HPCC's code calls `dcqcn_paper`.
    "dcqcn, in HPCC's code": {
        "name": "dcqcn",
        "profile": CODE,
        "alpha_period": "50 us",
        "decrease_interval": "50 us",
        "increase_timer": "55 us",
    },
    "timely, in HPCC's code": {"name": "timely", "profile": CODE} | TIMELY_STEPS,
    "hpcc, in HPCC's code": {
        "name": "hpcc",
        "profile": CODE,
        "max_stage": 5,
        "ai": HPCC_INCREASE,
        "increments_at": "0 bps",
        "base_rtt": BASE_RTT,
    },
    "dcqcn, marks of HPCC's code": {
        "name": "dcqcn",
        "k_min": "100 KB",
        "k_max": "400 KB",
        "p_max": 0.2,
        "k_at": "25 Gbps",
    },
}

#: The reading that counts, in the rows of all claims: the transports' defaults, which are their papers' parameters.
READING = "default"
#: The names of the four transports of the paper, as it writes them, in the default reading.
DEFAULT = {**PAPER, "PACC": "pacc"}
#: Names of the transports under the named readings of `docs/project/readings.md`.
READINGS: dict[str, dict[str, str]] = {
    "PACC-23": {"DCQCN": "dcqcn, window", "TIMELY": "timely, window", "HPCC": "hpcc", "PACC": "pacc, window"},
    "PACC-25": {paper: f"{name}, hpcc-ns3" for paper, name in DEFAULT.items()},
    "PACC-18": DEFAULT | {"PACC": "pacc, T_i 55 us"},
    "PACC-26": DEFAULT | {"HPCC": "hpcc, no window"},
    "PACC-27": {
        **{paper: f"{name}, in HPCC's code" for paper, name in PAPER.items()},
        "PACC": "pacc, hpcc-ns3",
    },
    "PACC-29": DEFAULT | {"PACC": "pacc, window"},
    "PACC-30": DEFAULT | {"PACC": "pacc, T_i 55 us, window"},
}

#: PACC by eq. (1) as printed.
PRINT = {"name": "pacc", "profile": "print"}

#: Colours of the transports, as numbers of `Look.color`.
COLORS = own("dcqcn", "timely", "hpcc", "pacc")

ABOUT_SETUP = """\
Set-up of all figures of this paper, where it says nothing else:

* **Network**: the tree of 320 hosts, 16 to a ToR, host links of 25 Gbps and links between switches of 100 Gbps, each
  of 1 us; ECMP.
* **Frames** as in HPCC's ns-3 code, on which the paper's simulations are built: 1,000 B of payload in 1,048 B, 1,090
  with HPCC's telemetry, 1,056 with the timestamp that TIMELY has in that code; an ACK of 60 B or more for each packet.
* **Switches** with priority flow control over 32 MB of shared memory, as there.
* **DCQCN, TIMELY, HPCC** with the parameters of their own papers, as sec. V-A says. *DCQCN*: a CNP each 50 us at most,
  `T` = `K` = 55 us, `B` = 10 MB, `F` = 5, `R_AI` = 40 Mbps, marks from 5 to 200 KB at 40 Gbps, which scale with the
  rate of the port. *TIMELY*: `T_low` 50 us, `T_high` 500 us, `beta` 0.8, steps of 10 Mbps, which its paper does not
  scale. *HPCC*: `eta` 0.95, `maxStage` 5, the increase by its rule for 100 flows, and its window.
* **PACC** with its own parameters, and hosts by DCQCN's reaction point with the 1 us and 300 us of its appendix
  (PACC-18).
* **Named readings**, shown beside the default: a window of one base round-trip time for all, for none, or for PACC
  (PACC-23, PACC-26, PACC-29); PACC's hosts with the 55 us of DCQCN's paper between increases (PACC-18), and with both
  (PACC-30); all four under the constants of
  HPCC's ns-3 code, `hpcc-ns3` (PACC-25); the laws of that code with the papers' constants, as its variant `dcqcn_paper`
  is (PACC-27). The text allows them, since V-A names both "the open-source implementation" and "the parameters
  suggested in corresponding papers". It also "scale[s] the ECN marking threshold proportional to the link bandwidth
  suggested in" HPCC's paper; read so that the values are HPCC's too, they are 100 and 400 KB at 25 Gbps (PACC-28).
* **Not stated in the paper**: buffers, flow control, the class of acknowledgements, least rates, windows, the unit of
  HPCC's increase at 25 Gbps, TIMELY's `alpha` and `min_rtt`. HPCC's `base_rtt` is 12.96 us, the longest of the tree as
  HPCC's code computes it.
"""


def scenario(
    transport: Mapping[str, Any],
    traffic: Sequence[Mapping[str, Any]],
    *,
    topology: Mapping[str, Any] = TREE,
    **top: Any,
) -> dict[str, Any]:
    """A scenario in the common set-up. `top`: further keys, such as `stop`, `seed` and `sample`."""
    return {
        "topology": dict(topology),
        "network": dict(FRAMING),
        "switch": dict(SWITCH),
        "transport": dict(transport),
        "traffic": [dict(part) for part in traffic],
        **top,
    }
