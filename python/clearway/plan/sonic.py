"""Settings of a SONiC switch: a fragment of config_db.json.

Tables and fields are those of SONiC's Configuration.md and its YANG models (sonic-scheduler, sonic-wred-profile): a
scheduler's `pir` is in bytes per second with `meter_type` bytes, `pbs` in bytes; `dynamic_th` is a power of two.
"""

from __future__ import annotations

import math

from clearway.plan.switches import Port

#: Name of the maps.
MAP = "CLEARWAY"
#: Traffic classes, which are queues and priority groups too.
DATA, LOSSLESS, CREDITS = "0", "3", "5"
#: HPCC's flow control, as the simulator has it: an eighth of what is free (2 to the power of -3), on again 3 KiB below.
DYNAMIC_TH, RESERVE, RESUME = "-3", "4096", "3072"

Table = dict[str, dict[str, str]]


def config(ports: list[Port], dscp: int, cell: int, *, pfc: bool) -> dict[str, Table]:
    """The fragment for one switch. `cell`: the unit in which the chip's buffer is counted, in bytes."""
    data = LOSSLESS if pfc else DATA
    tables: dict[str, Table] = {
        "DSCP_TO_TC_MAP": {MAP: {str(code): CREDITS if code == dscp else data for code in range(64)}},
        "TC_TO_QUEUE_MAP": {MAP: {data: data, CREDITS: CREDITS}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {data: data, CREDITS: DATA}},
        "PORT_QOS_MAP": {},
        "SCHEDULER": {"clearway_data": {"type": "DWRR", "weight": "1"}},
        "WRED_PROFILE": {},
        "QUEUE": {},
        "BUFFER_PROFILE": {},
        "BUFFER_QUEUE": {},
    }
    if pfc:
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {MAP: {LOSSLESS: LOSSLESS}}
        tables["BUFFER_PG"] = {}
    for port in ports:
        add(tables, port, data, cell, pfc=pfc)
    return tables


def add(tables: dict[str, Table], port: Port, data: str, cell: int, *, pfc: bool) -> None:
    """The entries of one port."""
    credits_, ecn = f"clearway_credits_{port.speed}", f"clearway_K_{port.speed}"
    tables["SCHEDULER"][credits_] = {
        "type": "STRICT",
        "meter_type": "bytes",
        "pir": str(port.credit_bps // 8),
        "pbs": str(port.credit_burst),
    }
    threshold = str(port.marking_bytes)
    tables["WRED_PROFILE"][ecn] = {
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_min_threshold": threshold,
        "green_max_threshold": threshold,
        "green_drop_probability": "100",
    }
    tables["QUEUE"][f"{port.device}|{CREDITS}"] = {"scheduler": credits_}
    tables["QUEUE"][f"{port.device}|{data}"] = {"scheduler": "clearway_data", "wred_profile": ecn}
    # A frame takes whole cells, a credit one.
    queue = f"clearway_credit_queue_{port.credit_queue}"
    tables["BUFFER_PROFILE"][queue] = {
        "pool": "egress_lossy_pool",
        "size": "0",
        "static_th": str(port.credit_queue * cell * math.ceil(64 / cell)),
    }
    tables["BUFFER_QUEUE"][f"{port.device}|{CREDITS}"] = {"profile": queue}
    maps = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP}
    if pfc:
        group = f"clearway_pg_{port.speed}_{port.headroom_bytes}"
        tables["BUFFER_PROFILE"][group] = {
            "pool": "ingress_lossless_pool",
            "size": RESERVE,
            "dynamic_th": DYNAMIC_TH,
            "xoff": str(port.headroom_bytes),
            "xon": RESUME,
            "xon_offset": RESUME,
        }
        tables["BUFFER_PG"][f"{port.device}|{LOSSLESS}"] = {"profile": group}
        maps |= {"pfc_enable": LOSSLESS, "pfc_to_queue_map": MAP}
    else:
        # What waits here loses nothing while it is within the bound.
        size = f"clearway_data_{port.data_bytes}"
        tables["BUFFER_PROFILE"][size] = {
            "pool": "egress_lossy_pool",
            "size": "0",
            "static_th": str(in_cells(port, cell)),
        }
        tables["BUFFER_QUEUE"][f"{port.device}|{data}"] = {"profile": size}
    tables["PORT_QOS_MAP"][port.device] = maps


def in_cells(port: Port, cell: int) -> int:
    """The data's bound as the chip counts it: each packet in whole cells."""
    return port.data_packets * math.ceil(port.frame_bytes / cell) * cell
