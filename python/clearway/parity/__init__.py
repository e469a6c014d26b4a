"""Parity: the same list of flows in Clearway and in the simulator of a transport's authors.

A case is a network, a profile and lists of flows that Clearway makes itself, always the same ones. What the authors'
simulator makes of each list was measured once and lies in `reference/`: only numbers, none of its code. A case is a
module of this package that defines `CASE` and stands in `CASES`.
"""

from __future__ import annotations

from clearway._clearway import Error, suggestion
from clearway.parity import hpcc_ns3, ns2
from clearway.parity.case import Case, FlowList, Reference
from clearway.parity.lists import Row, compare, measure, run_list

__all__ = ["CASES", "Case", "FlowList", "Reference", "Row", "compare", "find", "measure", "run_list"]

#: All cases by name. A name may begin with that of a simulator which has several.
CASES: dict[str, Case] = {case.name: case for case in (ns2.CASE, *hpcc_ns3.CASES)}


def find(name: str | None) -> list[Case]:
    """The case of that name, or those of the simulator of that name; all without one."""
    if name is None:
        return list(CASES.values())
    found = [case for case in CASES.values() if case.name == name or case.name.startswith(f"{name}-")]
    if not found:
        raise Error(f"case {name!r}: write one of {', '.join(CASES)}{suggestion(name, list(CASES))}")
    return found
