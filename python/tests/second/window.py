"""NSCC: the window of a sender."""

from __future__ import annotations

from typing import Any

Line = dict[str, Any]


class Window:
    """The window of a flow, under the reading that its first line names."""

    def __init__(self, first: Line) -> None:
        self.c = first
        self.mtu = first["mtu_bytes"]
        self.base = first["base_rtt_ps"]
        self.target = first["target_qdelay_ps"]
        size = self.mtu if first["gains"] == "mtu" else first["mss_bytes"]
        bdp = first["network_rtt_ps"] * first["path_rate_bps"] / 8e12
        a = bdp / (first["scale_rtt_ps"] * first["scale_rate_bps"] / 8e12)
        self.alpha = first["alpha"] * size * a / first["scale_rtt_ps"]
        self.fi = first["fi"] * size * a
        self.fi_scale = first["fi_scale"] * a
        self.eta = first["eta"] * size * a
        self.cwnd = max(self.mtu, first["first_cwnd_bytes"] or self.most)
        self.average = 0.0
        self.average_at = 0
        self.achieved = self.received = self.ignored = self.to_ignore = 0
        self.increases = 0.0
        self.trigger = False
        self.qa_end = 0
        self.fast_count = 0
        self.fast = False
        self.last_adjust = self.last_decrease = 0
        self.saved: float | None = None

    @property
    def most(self) -> float:
        """The largest window."""
        return float(self.c["maxwnd_bdp"] * self.base * self.c["sender_rate_bps"] / 8e12)

    def output(self) -> Line:
        """What can be seen."""
        return {"cwnd_bytes": round(self.cwnd), "max_cwnd_bytes": round(self.most), "base_rtt_ps": self.base}

    def step(self, line: Line) -> Line:
        """Handles an input."""
        more = getattr(self, line["kind"])(line)
        return {**self.output(), **(more or {})}

    def room(self, line: Line) -> Line:
        """May a packet leave?"""
        size = self.mtu if self.c["room_for_mtu"] else line["packet_bytes"]
        return {"may_send": line["in_flight_bytes"] + size <= self.cwnd}

    def probe(self, line: Line) -> None:
        """A probe was answered."""
        self.base = min(self.base, line["rtt_ps"])

    def timeout(self, line: Line) -> None:
        """A packet was heard of no more."""
        self.cwnd = max(self.cwnd - line["size_bytes"], self.mtu)
        if self.c["timeout_is_ignored"]:
            self.ignored += line["size_bytes"]

    def nack(self, line: Line) -> None:
        """A packet was cut."""
        now, size, in_flight = line["at_ps"], line["size_bytes"], line["in_flight_bytes"]
        if line["rtt_ps"] is not None:
            self.base = min(self.base, line["rtt_ps"])
        self.ignored += size
        self.update_average(self.c["network_rtt_ps"], True, now)
        left_to_credit = self.c["receiver_paces"] and line["last_hop"]
        if left_to_credit and not self.c["last_hop_adapts"]:
            return
        self.trigger = True
        if self.c["nack_leaves_first"]:
            in_flight -= size
        if not self.quick_adapt(True, True, 0, in_flight, now) and not left_to_credit:
            self.cwnd -= size
            self.clamp()

    def ack(self, line: Line) -> None:
        """Data arrived."""
        now, new, marked = line["at_ps"], line["new_bytes"], line["marked"]
        self.achieved += new
        self.received += new
        self.ignored += new
        rises = self.penalise(line)
        delay: float | None = None
        if (rtt := line["rtt_ps"]) is not None:
            if line["may_lower"]:
                self.base = min(self.base, rtt)
            if rtt >= self.base:
                delay = rtt - self.base
                self.update_average(delay, marked, now)
        if delay is None:
            if not self.c["acts_without_sample"]:
                return
            delay = self.average
        if self.quick_adapt(False, marked, delay, line["in_flight_bytes"], now):
            return
        if marked:
            if delay >= self.target:
                self.decrease(now)
        elif rises and delay >= self.target:
            self.increases += self.fi * new
        elif rises:
            self.increase(new, delay)
        if self.c["adjust_late"]:
            self.clamp()
        if rises:
            self.fulfil(now)
        if self.c["adjust_late"]:
            self.clamp()

    def penalise(self, line: Line) -> bool:
        """Applies a penalty of the receiver; false if the answer may not let the window grow."""
        penalty, new = line["penalty"], line["new_bytes"]
        if self.c["penalty"] == "kept":
            if penalty is not None:
                self.cwnd = max(self.mtu, self.cwnd - new * (1 - penalty / 255))
            return True
        if penalty is None:
            if self.saved is not None:
                self.cwnd, self.saved = self.saved, None
            return True
        if self.saved is None:
            self.saved = self.cwnd
        self.cwnd = max(self.mtu, min(self.cwnd, line["in_flight_bytes"]) - (penalty * new >> 7))
        return False

    def update_average(self, delay: float, marked: bool, now: int) -> None:
        """Takes a delay into the average: over samples, or each by the time since the last one."""
        if self.c["average"] == "samples":
            weight = self.c["delay_alpha"]
            if not marked and delay > self.target:
                delay = 0.25 * self.base
        else:
            weight = min(1.0, (now - self.average_at) / self.base)
        self.average_at = now
        self.average = weight * delay + (1 - weight) * self.average

    def increase(self, new: int, delay: float) -> None:
        """Grows below the target: fast without delay, else in proportion."""
        if delay < self.c["fast_delay_ps"]:
            self.fast_count += new
            if self.fast_count > self.cwnd or self.fast:
                self.cwnd += new * self.fi_scale
                self.fast = True
                self.clamp()
                return
        else:
            self.fast_count = 0
        self.fast = False
        self.increases += self.alpha * new * (self.target - delay)

    def decrease(self, now: int) -> None:
        """Shrinks by the average delay, once a round trip."""
        self.fast, self.fast_count = False, 0
        if self.average > self.target and now - self.last_decrease > self.base:
            factor = 1 - self.c["gamma"] * (self.average - self.target) / self.average
            self.cwnd = max(self.mtu, self.cwnd * max(1 - self.c["max_md_jump"], factor))
            self.last_decrease = now

    def fulfil(self, now: int) -> None:
        """Lets increases come into force."""
        since, period = now - self.last_adjust, self.c["adjust_period_ps"]
        is_due = since > period if self.c["adjust_late"] else since >= period
        if self.received > self.c["adjust_bytes"] or is_due:
            self.cwnd += self.increases / self.cwnd
            if since >= period:
                self.cwnd += self.eta
                self.last_adjust = now
            self.increases, self.received = 0.0, 0
            self.clamp()

    def quick_adapt(self, loss: bool, marked: bool, delay: float, in_flight: int, now: int) -> bool:
        """Sets the window to what arrived if that was little; true if the answer shall do nothing else."""
        adapts = False
        is_over = now >= self.qa_end if self.c["qa_at_end"] else now > self.qa_end
        if self.ignored < self.to_ignore and marked:
            adapts = True
        elif is_over:
            late = self.c["qa_threshold_ps"] is not None and delay > self.c["qa_threshold_ps"]
            if self.qa_end and (self.trigger or loss or late) and self.achieved < self.most / 2 ** self.c["qa_gate"]:
                self.cwnd = max(self.achieved, self.mtu)
                self.to_ignore, self.ignored, self.trigger, adapts = in_flight, 0, False, True
            self.achieved = 0
            self.qa_end = now + self.base + self.target
        if adapts:
            self.increases, self.received = 0.0, 0
        return adapts

    def clamp(self) -> None:
        """Holds the window to its bounds."""
        self.cwnd = max(self.mtu, min(self.cwnd, self.most))
