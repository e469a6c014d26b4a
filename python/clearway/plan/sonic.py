"""Settings of a SONiC switch: a fragment of config_db.json.

Tables and fields are those of SONiC's Configuration.md and its YANG models (sonic-scheduler, sonic-wred-profile): a
scheduler's `pir` is in bytes per second with `meter_type` bytes, `pbs` in bytes; `dynamic_th` is a power of two.
"""

from __future__ import annotations

import math

from clearway.plan.stated import FlowControl, Stated
from clearway.plan.switches import Port

#: Name of the maps.
MAP = "CLEARWAY"
#: Traffic classes, which are queues and priority groups too.
DATA, LOSSLESS, CREDITS, NOTICES = "0", "3", "5", "6"
#: DSCP of congestion notifications, as NICs send them.
NOTICE_DSCP = 48

Table = dict[str, dict[str, str]]


def config(ports: list[Port], dscp: int, cell: int, says: Stated) -> dict[str, Table]:
    """The fragment for one switch. `cell`: the unit in which the chip's buffer is counted, in bytes."""
    data = LOSSLESS if says.pfc else DATA
    first = {dscp: CREDITS} if says.credits else {}
    first |= {NOTICE_DSCP: NOTICES} if says.notices else {}
    queues = [data, *first.values()]
    tables: dict[str, Table] = {
        "DSCP_TO_TC_MAP": {MAP: {str(code): first.get(code, data) for code in range(64)}},
        "TC_TO_QUEUE_MAP": {MAP: {queue: queue for queue in queues}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {queue: queue if queue == data else DATA for queue in queues}},
        "PORT_QOS_MAP": {},
        "SCHEDULER": {"clearway_data": {"type": "DWRR", "weight": "1"}},
        "WRED_PROFILE": {},
        "QUEUE": {},
        "BUFFER_PROFILE": {},
        "BUFFER_QUEUE": {},
    }
    if says.notices:
        tables["SCHEDULER"]["clearway_notices"] = {"type": "STRICT"}
    if says.pfc:
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {MAP: {LOSSLESS: LOSSLESS}}
        tables["BUFFER_PG"] = {}
        if says.pfc.pool is not None:
            pool = {"type": "ingress", "mode": "dynamic", "size": str(says.pfc.pool)}
            tables["BUFFER_POOL"] = {"ingress_lossless_pool": pool}
    for port in ports:
        add_data(tables, port, data, says)
        add_limits(tables, port, data, cell, says.pfc)
        if says.credits:
            add_credits(tables, port, cell)
        if says.notices:
            tables["QUEUE"][f"{port.device}|{NOTICES}"] = {"scheduler": "clearway_notices"}
    return {name: table for name, table in tables.items() if table}


def add_credits(tables: dict[str, Table], port: Port, cell: int) -> None:
    """The class of credits of one port."""
    name = f"clearway_credits_{port.speed}"
    tables["SCHEDULER"][name] = {
        "type": "STRICT",
        "meter_type": "bytes",
        "pir": str(port.credit_bps // 8),
        "pbs": str(port.credit_burst),
    }
    tables["QUEUE"][f"{port.device}|{CREDITS}"] = {"scheduler": name}
    # A frame takes whole cells, a credit one.
    queue = f"clearway_credit_queue_{port.credit_queue}"
    tables["BUFFER_PROFILE"][queue] = {
        "pool": "egress_lossy_pool",
        "size": "0",
        "static_th": str(port.credit_queue * cell * math.ceil(64 / cell)),
    }
    tables["BUFFER_QUEUE"][f"{port.device}|{CREDITS}"] = {"profile": queue}


def add_data(tables: dict[str, Table], port: Port, data: str, says: Stated) -> None:
    """The queue of data of one port, and its marks."""
    queue = {"scheduler": "clearway_data"}
    if says.marks:
        least, most = says.red.of(port.rate_bps) if says.red else (port.marking_bytes, port.marking_bytes)
        queue["wred_profile"] = f"clearway_{'red' if says.red else 'K'}_{port.speed}"
        tables["WRED_PROFILE"][queue["wred_profile"]] = {
            "ecn": "ecn_all",
            "wred_green_enable": "true",
            "green_min_threshold": str(least),
            "green_max_threshold": str(most),
            "green_drop_probability": str(says.red.percent if says.red else 100),
        }
    tables["QUEUE"][f"{port.device}|{data}"] = queue


def add_limits(tables: dict[str, Table], port: Port, data: str, cell: int, pfc: FlowControl | None) -> None:
    """The memory of one port's data: a limit, or the thresholds of flow control."""
    maps = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP}
    if pfc:
        group = f"clearway_pg_{port.speed}_{port.headroom_bytes}"
        tables["BUFFER_PROFILE"][group] = {
            "pool": "ingress_lossless_pool",
            "size": str(pfc.reserve),
            "dynamic_th": str(pfc.exponent),
            "xoff": str(port.headroom_bytes),
            "xon": str(pfc.resume),
            "xon_offset": str(pfc.resume),
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
