"""RCCC: the credit of a sender, and the pulls of a receiving host."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]


def signed(number: int) -> int:
    """A number of 32 bits, those of the upper half below zero."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


class Sender:
    """The credit of a flow."""

    def __init__(self, first: Line) -> None:
        self.c = first
        self.credit = first["most_bytes"]
        self.pull: int = 0
        self.speculating = True

    def output(self) -> Line:
        """What can be seen."""
        return {"credit_bytes": self.credit, "may_send": self.credit > 0, "pull_quanta": self.pull}

    def step(self, line: Line) -> Line:
        """Handles an input."""
        if line["kind"] == "send":
            self.credit -= line["size_bytes"]
            return {**self.output(), "target_quanta": self.target(line)}
        if self.speculating:
            self.speculating, self.credit = False, min(self.credit, 0)
        if (pull := line["pull_quanta"]) is not None and (more := signed(pull - self.pull)) > 0:
            self.credit = min(self.credit + more * self.c["quantum_bytes"], self.c["most_bytes"])
            self.pull = pull
        return self.output()

    def target(self, line: Line) -> int:
        """The pull that the sender wants to have come to."""
        wanted = min(line["demand_bytes"], self.c["most_bytes"]) - self.credit
        if self.speculating and wanted < self.c["mtu_bytes"] and line["backlog_bytes"] > 0:
            wanted = self.c["mtu_bytes"]
        units: int = -(-wanted // (self.c["quantum_bytes"] * max(line["waiting_flows"], 1)))
        return (self.pull + units) & 0xFFFFFFFF


@dataclass
class Flow:
    """A flow that arrives."""

    target: int = 0
    granted: int = 0

    @property
    def lacks(self) -> int:
        """The units that it asks for and was not granted."""
        return signed(self.target - self.granted)


class Receiver:
    """The pacer of a host."""

    def __init__(self, first: Line) -> None:
        self.c = first
        self.flows: dict[int, Flow] = {}
        self.active: deque[int] = deque()
        self.idle: deque[int] = deque()
        self.next = 0
        self.rate = 1.0
        self.share = 0.0
        self.rises = 0
        self.seen = {"packets": 0, "marked": 0, "core": 0, "last_hop": 0}

    def output(self) -> Line:
        """What can be seen."""
        return {"next_ps": self.next if self.active or self.idle else None}

    def step(self, line: Line) -> Line:
        """Handles an input."""
        more = getattr(self, line["kind"])(line)
        return {**self.output(), **(more or {})}

    def begin(self, line: Line) -> None:
        """A flow begins."""
        self.flows[line["flow"]] = Flow()

    def end(self, line: Line) -> None:
        """A flow is over."""
        if self.flows.pop(line["flow"], None):
            for turns in (self.active, self.idle):
                while line["flow"] in turns:
                    turns.remove(line["flow"])

    def data(self, line: Line) -> None:
        """Data arrived, whole or cut."""
        self.seen["packets"] += 1
        if line["trimmed"]:
            self.seen["last_hop" if line["last_hop"] else "core"] += 1
        else:
            self.seen["marked"] += line["marked"]
        self.hear(line, asks=False)

    def request(self, line: Line) -> None:
        """A sender asks for pulls."""
        self.hear(line, asks=True)

    def hear(self, line: Line, *, asks: bool) -> None:
        """Takes the demand of a flow."""
        if flow := self.flows.get(line["flow"]):
            if rises := signed(line["target_quanta"] - flow.target) > 0:
                flow.target = line["target_quanta"]
            if rises or asks:
                self.join(line["flow"])

    def join(self, number: int) -> None:
        """Lets a flow wait for a pull that it asked for."""
        if number not in self.active:
            self.active.append(number)
        if not self.c["stays_idle"] and number in self.idle:
            self.idle.remove(number)

    def rest(self, number: int) -> None:
        """Lets a flow wait for a pull ahead of demand."""
        if self.c["stays_idle"] or number not in self.idle:
            self.idle.append(number)

    def ack(self, line: Line) -> Line:
        """An acknowledgement leaves."""
        flow = self.flows.get(line["flow"])
        return {"pull_quanta": flow.granted} if flow and self.c["acks_pull"] else {}

    def nack(self, line: Line) -> Line:
        """A NACK leaves."""
        if line["flow"] in self.flows:
            self.join(line["flow"])
        return self.ack(line)

    def turn(self, line: Line) -> Line:
        """A pull may leave."""
        if line["at_ps"] < self.next or not (self.active or self.idle):
            return {}
        most = self.c["pull_quanta"]
        ahead = not self.active
        number = self.idle.popleft() if ahead else self.active.popleft()
        flow = self.flows[number]
        units = most if ahead else min(most, max(0, flow.lacks))
        flow.granted = (flow.granted + units) & 0xFFFFFFFF
        if not ahead:
            if flow.lacks > 0:
                self.join(number)
            else:
                self.rest(number)
        elif 0 <= -flow.lacks < self.c["ahead_quanta"]:
            self.rest(number)
        self.next = line["at_ps"] + round(self.c["quantum_ps"] * (units or self.c["empty_quanta"]) / self.rate)
        return {"pulls_flow": number, "pull_quanta": flow.granted, "ahead": ahead}

    def decide(self, _: Line) -> Line:
        """The controller of an oversubscribed core decides."""
        n, marked, core, last_hop = self.seen.values()
        self.seen = dict.fromkeys(self.seen, 0)
        whole = n - core - last_hop
        alpha = self.c["rate_alpha"]
        self.share = (1 - alpha) * self.share + alpha * (marked / whole if whole else 0.0)
        falls = False
        if core:
            self.rate -= core / n
            falls = True
        if self.share > self.c["target_congestion"]:
            self.rate *= 1 - self.c["rate_md"] * (self.share - self.c["target_congestion"])
            falls = True
        if falls:
            self.rises = 0
        else:
            self.rate += self.c["rate_ai"] * (1 if marked else 2**self.rises)
            self.rises += 1
        self.rate = max(self.c["min_rate"], min(1.0, self.rate))
        return {"rate_ppm": round(self.rate * 1e6)}
