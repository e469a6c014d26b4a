"""The settings of switches that a scenario file states, as far as the configuration of a switch can say the same.

What it can't say is refused with the key, its value and what would be right, so that no plan differs from its scenario.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from clearway import _clearway
from clearway.plan.limits import CREDITED, refusal, resolved, text, transports, without_bound
from clearway.plan.switches import Port
from clearway.sweeps.amounts import amount

#: Transports that ask nothing of switches but marks and flow control.
PLAIN = (
    "blast", "rocev2", "dcqcn", "timely", "rdma-dctcp", "newreno", "cubic", "dctcp", "dx", "fixed-window", "pac",
    "ictcp", "ack-shaper",
)  # fmt: skip
#: The classes of a scenario: data alone, or data behind the congestion notifications that DCQCN asks for.
CLASSES = (("data",), ("data", "notices"))


@dataclass(frozen=True)
class Red:
    """Marks at random between two queues in bytes, at a port of `at_bps`; at others they grow with the rate."""

    k_min: int
    k_max: int
    percent: int
    at_bps: int

    def of(self, rate_bps: int) -> tuple[int, int]:
        """Both queues at a port."""
        return self.k_min * rate_bps // self.at_bps, self.k_max * rate_bps // self.at_bps


@dataclass(frozen=True)
class FlowControl:
    """Thresholds of flow control: the exponent of 2 of its share of free memory, sizes in bytes."""

    exponent: int = -3
    reserve: int = 4096
    resume: int = 3072
    headroom: int | None = None
    pool: int | None = None


@dataclass(frozen=True)
class Stated:
    """The settings of switches that a scenario states, or those of ExpressPass for a network without a scenario."""

    credits: bool = True
    marks: bool = True
    red: Red | None = None
    pfc: FlowControl | None = None
    notices: bool = False
    #: K and the limit of data in bytes, where they are the same at all ports.
    threshold: int | None = None
    buffer: int | None = None

    def at(self, port: Port) -> Port:
        """A port with the settings that are the same at all."""
        found = port
        if self.threshold is not None:
            found = replace(found, marking_bytes=self.threshold, marking_frames=self.threshold // port.frame_bytes)
        if self.buffer is not None:
            found = replace(found, data_bytes=self.buffer, data_packets=self.buffer // port.frame_bytes)
        if self.pfc and self.pfc.headroom is not None:
            found = replace(found, headroom_bytes=self.pfc.headroom)
        return found


class Refused(ValueError):  # noqa: N818 - it says what is wrong with the scenario
    """A key that the configuration of a switch can't say."""


def stated(scenario: _clearway.Scenario, target: str, *, ecn: bool, pfc: bool | None) -> Stated:
    """Reads the settings of switches that a scenario file states; raises `Refused` for what the target can't say."""
    content = resolved(scenario)
    used = list(transports(content))
    credited = all(transport["name"] in CREDITED for _, transport in used)
    if credited and (why := without_bound(scenario)):
        raise Refused(why)
    switch = content["switch"]
    if credited:
        check_credit_queues([("switch", switch), *used])
    elif target == "linux-tc":
        key, transport = next((key, one) for key, one in used if one["name"] not in CREDITED)
        raise Refused(
            f'{key}.name = "{transport["name"]}": linux-tc sets credit classes; write one of {", ".join(CREDITED)}, or '
            "use --target sonic"
        )
    else:
        for key, transport in used:
            check_transport(key, transport["name"])
    frame = whole(content["network"]["payload"]) + whole(content["network"]["overhead"])
    marks, threshold, red = marking(content, frame)
    if target == "linux-tc":
        check_linux(switch, ecn=ecn, red=red is not None)
    control = flow_control(scenario, content) if switch["pfc"] else None
    if pfc is not None and pfc != switch["pfc"]:
        raise Refused(
            f"switch.pfc = {text(switch['pfc'])}: {'--pfc' if pfc else '--no-pfc'} says otherwise; leave it out"
        )
    buffer = None if credited or control else limit(switch, frame)
    return Stated(credited, marks, red, control, is_noticed(content), threshold, buffer)


def check_credit_queues(tables: list[tuple[str, dict[str, Any]]]) -> None:
    """Refuses queues of credits that are limited in bytes, and those that drop at random."""
    for key, table in tables:
        if table.get("credit_drop") == "random":
            raise Refused(refusal(f"{key}.credit_drop", "random", "tail", "a switch drops the credit that arrives"))
        if table.get("credit_queue_bytes") is True:
            raise Refused(refusal(f"{key}.credit_queue_bytes", True, False, "a switch counts the credits of its queue"))


def check_transport(key: str, name: str) -> None:
    """Refuses a transport whose switches do more than the configuration of SONiC says."""
    if name in CREDITED:
        raise Refused(f'{key}.name = "{name}": shares its ports with data without credits; plan for one of them')
    if name not in PLAIN:
        raise Refused(
            f'{key}.name = "{name}": its switches do more than mark and pause, which a configuration of SONiC can\'t '
            f"say; write one of {', '.join((*CREDITED, *PLAIN))}"
        )


def check_linux(switch: dict[str, Any], *, ecn: bool, red: bool) -> None:
    """Refuses marks that the script would not set, and others than it would."""
    said = switch["marking"]
    if red:
        raise Refused('switch.marking = "red": RED of Linux goes by an average; write a size, or use --target sonic')
    if said == "off" and ecn:
        raise Refused('switch.marking = "off": --ecn would mark; leave it out')
    if said != "off" and not ecn:
        raise Refused(f"switch.marking = {text(said)}: the script marks with --ecn alone; say --ecn")


def marking(content: dict[str, Any], frame: int) -> tuple[bool, int | None, Red | None]:
    """If data is marked, and the threshold or thresholds where the scenario gives them."""
    switch = content["switch"]
    said = switch["class"][0].get("marking", switch["marking"])
    if said in ("off", "by-rate"):
        return said == "by-rate", None, None
    if said == "red":
        share = amount(switch["red_pmax"])
        assert share is not None
        percent = share.number * 100
        if percent.denominator != 1:
            raise Refused(refusal("switch.red_pmax", switch["red_pmax"], 0.01, "SONiC has whole per cents"))
        k_min, k_max, rate = (whole(switch[key]) for key in ("red_kmin", "red_kmax", "red_rate"))
        return True, None, Red(k_min, k_max, int(percent), rate)
    found = amount(said)
    if found is None or found.unit != "B":
        packets = int(str(said).split()[0]) if str(said).endswith(" packets") else 65
        raise Refused(refusal("switch.marking", said, f"{packets * frame} B", "switches compare bytes with K"))
    return True, int(found.number), None


def flow_control(scenario: _clearway.Scenario, content: dict[str, Any]) -> FlowControl:
    """The thresholds of a scenario with flow control."""
    switch = content["switch"]
    data = switch["class"][0]
    rates = set(_clearway.network(scenario)["rate_bps"])
    share = Fraction(str(switch["pfc_alpha"]))
    exponent = power_of_two(share)
    if exponent is None:
        raise Refused(refusal("switch.pfc_alpha", switch["pfc_alpha"], 0.125, "SONiC has powers of two"))
    if len(rates) > 1:
        raise Refused(
            f"switch.pfc_alpha = {text(switch['pfc_alpha'])}: grows with the rate of a link, and SONiC has powers of "
            "two; plan for a network whose links have one rate"
        )
    if switch["pfc_response"] not in ("0 s", "0 ps"):
        raise Refused(refusal("switch.pfc_response", switch["pfc_response"], "0 s", "headroom is without it"))
    if not data.get("lossless"):
        raise Refused("switch.class.data.lossless = false: flow control protects data here; write true")
    if "buffer" in data:
        raise Refused(f"switch.buffer = {text(data['buffer'])}: a lossless queue has no limit of its own; leave it out")
    headroom = None if switch["pfc_headroom"] == "auto" else whole(switch["pfc_headroom"])
    pool = whole(switch["shared_buffer"]) if "shared_buffer" in switch else None
    if switch.get("alpha", 1.0) != 1.0:
        raise Refused(
            refusal("switch.alpha", switch["alpha"], 1.0, "the limit of unprotected queues is the platform's")
        )
    return FlowControl(exponent, whole(switch["pfc_reserve"]), whole(switch["pfc_resume_offset"]), headroom, pool)


def is_noticed(content: dict[str, Any]) -> bool:
    """True if congestion notifications have a class of their own; refuses all other classes."""
    classes = content["switch"]["class"]
    names = tuple(one["name"] for one in classes)
    if len(classes) == 1:
        return False
    notices = all(part.get("notice_class") == names[1] for part in content["traffic"])
    if names not in CLASSES or not notices or classes[1]["priority"] >= classes[0]["priority"]:
        raise Refused(
            f"switch.class = {', '.join(names)}: the configuration has data, and notices before it; "
            "leave [[switch.class]] out"
        )
    return True


def limit(switch: dict[str, Any], frame: int) -> int:
    """The limit of data at a port without credits and flow control."""
    if "shared_buffer" in switch:
        raise Refused(f"switch.shared_buffer = {text(switch['shared_buffer'])}: limits are static; leave it out")
    said = switch["class"][0].get("buffer", switch["buffer"])
    if str(said).endswith(" packets"):
        return int(str(said).split()[0]) * frame  # The bytes of so many full frames, by the key's definition.
    found = amount(said)
    if found is None or found.unit != "B":
        raise Refused(refusal("switch.buffer", said, f"{250 * frame} B", "a static limit is a number of bytes"))
    return int(found.number)


def power_of_two(share: Fraction) -> int | None:
    """The exponent of a power of two; None if it is none."""
    up, down = share.numerator, share.denominator
    if up.bit_count() != 1 or down.bit_count() != 1:
        return None
    return up.bit_length() - down.bit_length()


def whole(said: object) -> int:
    """A size or rate of a resolved scenario in bytes or bit/s."""
    found = amount(said)
    assert found is not None
    return int(found.number)
