"""The choice of paths: REPS, and the policies beside it."""

from __future__ import annotations

from collections import deque
from typing import Any

Line = dict[str, Any]


class Walk:
    """All values in turn, each round in an order of its own."""

    def __init__(self, first: Line) -> None:
        self.values: int = first["values"]
        self.base: int = first["base"]
        self.order: int = first["order"]
        self.at = 0

    def value(self) -> int:
        """The value whose turn it is."""
        return (self.at ^ self.order) % self.values

    def advance(self, random: deque[int]) -> None:
        """Goes on, in a new order after the last value."""
        self.at += 1
        if self.at == self.values:
            self.at, self.order = 0, random.popleft() % self.values


class Oblivious:
    """All values in turn, whatever is heard."""

    def __init__(self, first: Line) -> None:
        self.walk = Walk(first)

    def next(self, random: deque[int]) -> int:
        """The next entropy."""
        entropy = self.walk.base | self.walk.value()
        self.walk.advance(random)
        return entropy

    def feedback(self, entropy: int, what: str, now: int) -> None:
        """Hears of a packet."""


class Bitmap(Oblivious):
    """All values in turn but those with a penalty."""

    def __init__(self, first: Line) -> None:
        super().__init__(first)
        self.penalties = [0] * first["values"]
        self.of = {what: first[f"penalty_{what}"] for what in ("ecn", "nack", "timeout")}
        self.most = first["penalty_most"]

    def next(self, random: deque[int]) -> int:
        """The next entropy. The first value that passes pays one of its penalties."""
        walk = self.walk
        if self.penalties[walk.value()] > 0:
            self.penalties[walk.value()] -= 1
            for _ in range(walk.values + 1):
                walk.advance(random)
                if self.penalties[walk.value()] == 0:
                    break
        return super().next(random)

    def feedback(self, entropy: int, what: str, now: int) -> None:  # noqa: ARG002
        """Hears of a packet."""
        place = entropy % self.walk.values
        self.penalties[place] = min(self.most, self.penalties[place] + self.of.get(what, 0))


class Mixed(Bitmap):
    """Values with good feedback, each once; else as `Bitmap`."""

    def __init__(self, first: Line) -> None:
        super().__init__(first)
        self.good: deque[int] = deque()

    def next(self, random: deque[int]) -> int:
        """The next entropy."""
        return self.good.popleft() if self.good else super().next(random)

    def feedback(self, entropy: int, what: str, now: int) -> None:
        """Hears of a packet."""
        if what == "good":
            self.good.append(entropy)
        super().feedback(entropy, what, now)


class RepsLegacy:
    """All values in turn in the first window; then values with good feedback, each once, else any."""

    def __init__(self, first: Line) -> None:
        self.values: int = first["values"]
        self.left = min(first["first_window_packets"], self.values)
        self.walked = 0
        self.good: deque[int] = deque()

    def next(self, random: deque[int]) -> int:
        """The next entropy."""
        if self.walked < self.left:
            self.walked += 1
            return self.walked % self.values
        return self.good.popleft() if self.good else random.popleft() % self.values

    def feedback(self, entropy: int, what: str, now: int) -> None:  # noqa: ARG002
        """Hears of a packet."""
        if what == "good":
            self.good.append(entropy)


class Reps:
    """A ring of values with good feedback, which a timeout freezes."""

    def __init__(self, first: Line) -> None:
        self.c = first
        self.clear()
        self.explore = 0

    def clear(self) -> None:
        """Forgets all values, and thaws."""
        self.ring: list[int] = []
        self.valid: list[bool] = []
        self.head = 0
        self.frozen_until: int | None = None
        self.turn = 0

    def oldest(self) -> int:
        """The place of the oldest value."""
        return self.head if len(self.ring) == self.c["reps_places"] else 0

    def reused(self) -> int | None:
        """The place of the value that is used again, if one is."""
        if self.explore:
            self.explore -= 1
            return None
        places = [(self.oldest() + step) % len(self.ring) for step in range(len(self.ring))]
        if self.frozen_until is None:
            return next((place for place in places if self.valid[place]), None)
        if not places:
            return None
        place = self.turn
        self.turn = (place + 1) % len(places)
        return place

    def next(self, random: deque[int]) -> int:
        """The next entropy."""
        place = self.reused()
        if place is None:
            return random.popleft() % int(self.c["values"])
        self.valid[place] = False
        return self.ring[place]

    def feedback(self, entropy: int, what: str, now: int) -> None:
        """Hears of a packet."""
        if self.frozen_until is not None and now > self.frozen_until:
            self.clear()
            self.explore = self.c["reps_explorations"]
        if what == "good":
            if self.head == len(self.ring):
                self.ring.append(0)
                self.valid.append(False)
            self.ring[self.head], self.valid[self.head] = entropy, True
            self.head = (self.head + 1) % self.c["reps_places"]
        elif what == "timeout" and self.frozen_until is None and not self.explore:
            self.frozen_until = now + self.c["reps_freeze_ps"]
            self.turn = 0


class Paths:
    """A choice of paths by the policy that the first line names."""

    def __init__(self, first: Line) -> None:
        policies = {
            "reps": Reps,
            "reps-legacy": RepsLegacy,
            "oblivious": Oblivious,
            "bitmap": Bitmap,
            "mixed": Mixed,
        }
        self.policy: Any = policies[first["policy"]](first)

    def output(self) -> Line:
        """Nothing is to be seen before a choice."""
        return {}

    def step(self, line: Line) -> Line:
        """Makes a choice, or hears of a packet."""
        if line["kind"] == "feedback":
            self.policy.feedback(line["entropy"], line["feedback"], line["at_ps"])
            return {}
        random = deque(line["random"])
        offered = len(random)
        entropy = self.policy.next(random)
        return {"entropy": entropy, "drawn": len(random) < offered}
