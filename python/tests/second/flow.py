"""A sending end of Ultra Ethernet: window, credit and paths put together, and the packets that leave."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from second.credit import Sender, signed
from second.paths import Paths
from second.window import Window

Line = dict[str, Any]

FLYING, LOST, ARRIVED, ASKING = range(4)
NUMBERS = 1 << 32


@dataclass
class Record:
    """A packet that was sent."""

    sent: int
    offset: int
    payload: int
    entropy: int
    state: int
    repeats: int = 0


@dataclass
class Probe:
    """The probe of the base round-trip time."""

    number: int = 0
    sent: int | None = None
    due: bool = False


class Flow:
    """The sending end of a flow."""

    def __init__(self, first: Line) -> None:
        self.c = first
        self.window = Window(first) if first["has_window"] else None
        self.credit = Sender(first) if first["has_credit"] else None
        self.paths = Paths(first).policy
        self.chose = False
        self.records: dict[int, Record] = {}
        self.base = self.next = 0
        self.written = self.end = self.received = 0
        #: The ends of the messages that are not sent in full: a packet ends with its message.
        self.messages: list[int] = []
        self.closed = self.owes_end = False
        self.in_flight = self.lost_bytes = 0
        self.request: int | None = None
        self.request_at = 0
        self.rto_at: int | None = None
        self.stalls = 0
        self.probe = Probe()
        self.wants_probe = first["probes_base_rtt"]
        self.now = 0
        self.random: deque[int] = deque()

    def output(self) -> Line:
        """What can be seen."""
        finished = self.closed and not self.owes_end and not self.records and self.end == self.written
        return {
            "next_ps": self.rto_at,
            "may_send": self.has_work() and self.may_send(),
            "finished": finished,
            "cwnd_bytes": round(self.window.cwnd) if self.window else None,
        }

    def step(self, line: Line) -> Line:
        """Handles an input."""
        self.now = line["at_ps"]
        self.random = deque(line.get("random", ()))
        offered = len(self.random)
        more = getattr(self, line["kind"])(line) or {}
        drawn = {"drawn": len(self.random) < offered} if offered else {}
        return {**self.output(), **drawn, **more}

    # What is to be sent, and whether it may leave.

    def wire(self, payload: int) -> int:
        """The size of a packet on the wire."""
        return max(int(payload + self.c["overhead_bytes"]), int(self.c["wire_min_bytes"]))

    def count(self, *states: int) -> int:
        """The number of packets in one of these states."""
        return sum(record.state in states for record in self.records.values())

    def first_lost(self) -> int | None:
        """The number of the first lost packet."""
        return next((psn for psn, record in self.records.items() if record.state == LOST), None)

    def next_payload(self) -> int:
        """The payload of the next new packet."""
        most: int = self.c["payload_max_bytes"]
        return min(self.messages[0] - self.end, most) if self.messages else 0

    def has_backlog(self) -> bool:
        """Is something to be sent for the first time?"""
        return self.end < self.written or self.owes_end

    def has_work(self) -> bool:
        """Is something to be sent?"""
        return self.first_lost() is not None or self.has_backlog()

    def may_send(self) -> bool:
        """Do window and credit let the next packet leave?"""
        if self.credit and self.credit.credit <= 0:
            return False
        if not self.window:
            return True
        lost = self.first_lost()
        if self.c["room_for_mtu"]:
            size = self.c["mtu_bytes"]
        elif lost is not None:
            size = self.wire(self.records[lost].payload)
        else:
            size = self.wire(self.next_payload())
        return bool(self.in_flight + size <= self.window.cwnd)

    def demand(self) -> Line:
        """The last pull, and the one that the end wants to have come to."""
        if not self.credit:
            return {"pull_quanta": 0, "target_quanta": 0}
        backlog, begin = 0, self.end
        for end in self.messages:
            full, rest = divmod(end - begin, self.c["payload_max_bytes"])
            backlog += full * self.c["mtu_bytes"] + (self.wire(rest) if rest else 0)
            begin = end
        if self.owes_end and not backlog:
            backlog = self.wire(0)
        demand = backlog + self.lost_bytes
        if self.window:
            demand = min(demand, int(self.window.cwnd) + self.c["mtu_bytes"])
        target = self.credit.target({"demand_bytes": demand, "backlog_bytes": backlog, "waiting_flows": 1})
        return {"pull_quanta": self.credit.pull, "target_quanta": target}

    def entropy(self) -> int:
        """The entropy of the next packet."""
        self.chose = True
        return int(self.paths.next(self.random))

    def feed(self, entropy: int, what: str) -> None:
        """Tells the choice of paths what became of a packet."""
        if self.chose:
            self.paths.feedback(entropy, what, self.now)

    def rto(self, repeats: int) -> int:
        """The time after which a packet counts as lost."""
        doublings = min(repeats, 40) if self.c["rto_doubles"] else 0
        return int(min(self.c["rto_ps"] << doublings, self.c["rto_max_ps"]))

    def until(self, at: int) -> None:
        """Wants to be called at this time at the latest."""
        self.rto_at = at if self.rto_at is None else min(self.rto_at, at)

    # What the application says.

    def write(self, line: Line) -> None:
        """There is more to send."""
        self.written += line["bytes"]
        self.messages.append(self.written)
        self.wake()

    def close(self, line: Line) -> None:  # noqa: ARG002
        """There is no more to send."""
        self.closed, self.owes_end = True, self.end == self.written
        self.wake()

    def wake(self) -> None:
        """Asks for pulls if nothing may leave and nothing is on its way."""
        if self.has_work() and not self.may_send() and not self.count(FLYING, ASKING):
            self.ask()
        self.arm()

    # What leaves.

    def packet(self, line: Line) -> Line:  # noqa: ARG002
        """The packet of data that leaves."""
        if not (self.has_work() and self.may_send()):
            return dict.fromkeys(("psn", "entropy", "pull_quanta", "target_quanta"))
        entropy, lost = self.entropy(), self.first_lost()
        if lost is not None:
            psn, record = lost, self.records[lost]
            record.sent, record.entropy, record.state = self.now, entropy, FLYING
            record.repeats = min(record.repeats + 1, 255)
            self.lost_bytes -= self.wire(record.payload)
        else:
            payload = self.next_payload()
            psn, record = self.push(payload, entropy, FLYING)
        size = self.wire(record.payload)
        ends = self.closed and record.offset + record.payload == self.written
        if ends and lost is None:
            self.owes_end = False
        self.in_flight += size
        if self.credit:
            self.credit.credit -= size
        self.until(self.now + self.rto(record.repeats))
        return {
            "psn": psn,
            "offset_bytes": record.offset,
            "payload_bytes": record.payload,
            "asks": lost is not None or self.is_last_for_now(size),
            "repeats": lost is not None,
            "ends": ends,
            "entropy": entropy,
            **self.demand(),
        }

    def push(self, payload: int, entropy: int, state: int) -> tuple[int, Record]:
        """Enters a new packet."""
        psn, record = self.next, Record(self.now, self.end, payload, entropy, state)
        self.records[psn] = record
        self.next = (psn + 1) % NUMBERS
        self.end += payload
        if self.messages and self.messages[0] == self.end:
            self.messages.pop(0)
        return psn, record

    def is_last_for_now(self, size: int) -> bool:
        """May no packet follow one of this size?"""
        if not self.has_backlog() or (self.credit and self.credit.credit <= 0):
            return True
        if not self.window:
            return False
        is_small = self.c["small_window_asks"] and self.window.cwnd < self.c["sack_threshold_bytes"]
        return bool(is_small or self.in_flight + size >= self.window.cwnd)

    def control(self, line: Line) -> Line:  # noqa: ARG002
        """The request or the probe that leaves."""
        nothing: Line = dict.fromkeys(("psn", "entropy", "pull_quanta", "target_quanta"))
        psn, self.request = self.request, None
        if psn is not None:
            record = self.records.get(psn)
            return {"psn": psn, "entropy": record.entropy, **self.demand()} if record else nothing
        if not self.probe.due:
            return nothing
        self.probe = Probe(self.probe.number + 1, self.now)
        return {**nothing, "psn": self.probe.number, "entropy": self.entropy()}

    # What is heard.

    def hear(self, pull: int | None) -> None:
        """The receiver lives, and may have told a pull."""
        self.stalls = 0
        if self.credit:
            self.credit.step({"kind": "heard", "pull_quanta": pull})

    def hear_answer(self, line: Line) -> None:
        """An answer to data or to a probe was handled."""
        self.hear(line["pull_quanta"] if self.c["acks_pull"] else None)
        if self.wants_probe:
            self.wants_probe = False
            if self.end < self.written:
                self.probe.due = True
        self.arm()

    def pull(self, line: Line) -> None:
        """A pull arrived."""
        self.hear(line["pull_quanta"])
        self.arm()

    def nack(self, line: Line) -> None:
        """A packet was cut."""
        record = self.records.get(line["psn"])
        if record and record.state == FLYING:
            if self.window:
                of_window = {
                    "at_ps": self.now,
                    "size_bytes": self.wire(record.payload),
                    "in_flight_bytes": self.in_flight,
                    "rtt_ps": None if record.repeats else self.now - record.sent,
                    "last_hop": line["last_hop"],
                }
                self.window.nack(of_window)
            self.lose(record)
            at_last_hop = "ecn" if line["marked"] else "good"
            self.feed(line["entropy"], at_last_hop if line["last_hop"] else "nack")
        self.hear_answer(line)

    def lose(self, record: Record) -> None:
        """A packet is lost."""
        size = self.wire(record.payload)
        record.state = LOST
        self.in_flight -= size
        self.lost_bytes += size

    def ack(self, line: Line) -> None:
        """Packets arrived."""
        rtt, may_lower = self.sample(line)
        new = max(signed(line["received_bytes"] - self.received), 0)
        self.received = (self.received + new) % NUMBERS
        self.in_flight -= new
        self.take(line)
        if line["ends"]:
            self.take_end()
        self.feed(line["entropy"], "ecn" if line["marked"] else "good")
        if self.window:
            of_window = {
                "at_ps": self.now,
                "new_bytes": new,
                "in_flight_bytes": self.in_flight,
                "rtt_ps": rtt,
                "may_lower": may_lower,
                "marked": line["marked"],
                "penalty": None,
            }
            self.window.ack(of_window)
        self.hear_answer(line)

    def sample(self, line: Line) -> tuple[int | None, bool]:
        """The round-trip time, if the sample is valid, and whether it may lower the base."""
        if line["of_probe"]:
            if self.probe.sent is None or line["psn"] != self.probe.number:
                return None, False
            rtt, self.probe.sent = self.now - self.probe.sent, None
            if not self.window:
                return None, False
            self.window.probe({"rtt_ps": rtt})
            return max(rtt, self.window.base), False
        record = self.records.get(line["psn"])
        if not record or record.state not in (FLYING, ASKING) or record.repeats != line["of_repeat"]:
            return None, False
        return self.now - record.sent, record.state == FLYING

    def take(self, line: Line) -> None:
        """Takes what arrived: all before a number, and what a map says."""
        before = (line["next_psn"] - self.base) % NUMBERS
        told = [(self.base + place) % NUMBERS for place in range(before if before <= len(self.records) else 0)]
        told += [(line["from_psn"] + bit) % NUMBERS for bit in range(64) if line["map"] >> bit & 1]
        for psn in told:
            record = self.records.get(psn)
            if record:
                self.arrive(record)
        self.forget()
        if not self.count(FLYING):
            self.in_flight = min(self.in_flight, 0)

    def arrive(self, record: Record) -> None:
        """A packet arrived, which may have counted as lost: it left the bytes in flight twice then."""
        if record.state == LOST:
            size = self.wire(record.payload)
            self.in_flight += size
            self.lost_bytes -= size
        elif record.state == ASKING:
            self.request = None
        record.state = ARRIVED

    def forget(self) -> None:
        """Drops the first records, as long as their packets have arrived."""
        while self.base in self.records and self.records[self.base].state == ARRIVED:
            del self.records[self.base]
            self.base = (self.base + 1) % NUMBERS

    def take_end(self) -> None:
        """The receiver has all: a packet without data that told it the end is repeated no more."""
        self.owes_end = False
        for record in self.records.values():
            if record.payload == 0 and record.state == LOST:
                self.lost_bytes -= self.wire(0)
                record.state = ARRIVED
            elif record.payload == 0 and record.state == FLYING:
                self.in_flight -= self.wire(0)
                record.state = ARRIVED
        self.forget()

    # What is not heard.

    def timer(self, line: Line) -> None:  # noqa: ARG002
        """The time has come."""
        if self.rto_at is None or self.now < self.rto_at:
            return
        if self.count(FLYING, ASKING):
            self.expire()
        elif self.has_work() and not self.may_send():
            self.stalls = min(self.stalls + 1, 255)
            self.request_at, self.rto_at = self.now, None
            self.ask()
        self.arm()

    def deadline(self, record: Record) -> int | None:
        """The time at which a packet counts as lost."""
        return record.sent + self.rto(record.repeats) if record.state in (FLYING, ASKING) else None

    def expire(self) -> None:
        """Handles the loss of all packets of which nothing was heard for too long."""
        self.rto_at = None
        for psn, record in list(self.records.items()):
            deadline = self.deadline(record)
            if deadline is not None and deadline <= self.now:
                self.time_out(psn, record)
        deadlines = [self.deadline(record) for record in self.records.values()]
        for deadline in deadlines:
            if deadline is not None:
                self.until(deadline)

    def time_out(self, psn: int, record: Record) -> None:
        """Handles the loss of a packet of which nothing was heard for too long."""
        if record.state == ASKING:
            record.sent, record.repeats = self.now, min(record.repeats + 1, 255)
            self.request = psn
            return
        self.feed(record.entropy if self.c["timeout_names_path"] else 0, "timeout")
        others_wait = self.first_lost() is not None
        if self.window:
            self.window.timeout({"size_bytes": self.wire(record.payload)})
        self.lose(record)
        asks = self.credit is not None if others_wait else not self.may_send()
        if self.credit and others_wait:
            self.credit.step({"kind": "heard", "pull_quanta": None})
        if asks:
            self.ask()

    def ask(self) -> None:
        """Sends a pull request, unless one is on its way or left within a round trip."""
        if self.now < self.request_at or self.count(ASKING):
            return
        self.request, _ = self.push(0, self.entropy(), ASKING)
        self.request_at = self.now + self.c["network_rtt_ps"]
        self.until(self.now + self.rto(0))

    def arm(self) -> None:
        """Sets the timer after an input."""
        if self.count(FLYING, ASKING):
            return
        self.rto_at = None
        if self.has_work() and not self.may_send():
            patience = self.c["rto_ps"] * (4 << min(self.stalls, 20))
            self.rto_at = self.now + min(patience, self.c["rto_max_ps"])
