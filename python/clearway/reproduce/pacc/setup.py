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

#: The four transports that the paper compares, as HPCC's code runs them at 25 Gbps.
TRANSPORTS: dict[str, dict[str, Any]] = {
    "dcqcn": {"name": "dcqcn", "profile": "hpcc-ns3"},
    "timely": {"name": "timely", "profile": "hpcc-ns3"},
    "hpcc": {"name": "hpcc", "profile": "hpcc-ns3", "base_rtt": BASE_RTT},
    "pacc": {"name": "pacc", "profile": "hpcc-ns3"},
}
#: The reading that counts, in the rows of all claims.
READING = "`hpcc-ns3`"
#: The reading of PACC with a window, which nothing in the paper mentions.
WINDOW_READING = "PACC-23"
#: The names of the paper's transports.
PAPER = {"DCQCN": "dcqcn", "TIMELY": "timely", "HPCC": "hpcc"}

#: PACC by eq. (1) as printed.
PRINT = {"name": "pacc", "profile": "print"}
#: HPCC's window in proportion to the rate, and acknowledgements ahead of data at every port.
VARIABLE = {"windowing": "rate", "base_rtt": BASE_RTT}
OWN_CLASS = {"acks": "own-class"}

#: Colours of the transports, as numbers of `Look.color`.
COLORS = own("dcqcn", "timely", "hpcc", "pacc")

ABOUT_SETUP = """\
Set-up of all figures of this paper, where it says nothing else:

* **Network**: the tree of 320 hosts, 16 to a ToR, host links of 25 Gbps and links between switches of 100 Gbps, each
  of 1 us; ECMP.
* **Frames** as in HPCC's ns-3 code, on which the paper's simulations are built: 1,000 B of payload in 1,048 B, 1,056
  with TIMELY's timestamp, 1,090 with HPCC's telemetry; an ACK of 60 B or more for each packet.
* **Switches** with priority flow control over 32 MB of shared memory, as there.
* **All four transports** under their profile `hpcc-ns3`: the paper compares "the open-source implementation" of HPCC's
  authors and implements PACC in it. Increments and marking thresholds are scaled to 25 Gbps as that code scales them
  (100 KB and 400 KB), hosts of DCQCN, TIMELY and PACC send ACKs first, HPCC's `base_rtt` is 12.96 us, the longest of
  the tree. The default of `pacc` differs by a least rate of 10 Mbps instead of 1 Gbps and ACKs behind data
  ([PACC](../protocols/pacc.md)). "Parameters suggested in corresponding papers" may also mean those of DCQCN's and
  TIMELY's own papers; figures show them beside where they matter.
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
