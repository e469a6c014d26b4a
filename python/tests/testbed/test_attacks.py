"""`clearwayd host` under attack: forged, replayed and malformed frames, and floods of requests."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clearway.testbed import Daemon, Network
from clearway.testbed.exchange import Exchange
from clearway.testbed.frames import ACCEPT, CREDIT, ETHERTYPE, REQUEST, STOP, STOPPED, Control, Tap, mac
from clearway.testbed.namespace import wait_until
from testbed.attacks import MB, STALL_S, both, refused, stats
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 25 * MB
#: Bytes of memory that floods may cost a daemon: its bounds are 65,536 flows of about 1.5 KB.
MEMORY = 150e6
EVIL = "02:00:00:00:66:66"


@pytest.fixture
def trio(build: Build) -> Network:
    """Three hosts, of which the third one attacks."""
    return build(hosts=3)


def test_forged_and_replayed_frames_are_refused_with_their_reasons_and_move_nothing(trio: Network) -> None:
    one, two, evil = trio.hosts
    daemons = both([one, two])
    moving = Exchange(one, two, SIZE)
    moving.wait_for(0.05)
    with Tap(one) as tap:
        credit = tap.first(CREDIT)
    flow = credit.but(number=credit.number + 100_000)
    forged = {
        "cookie": flow.but(cookie=credit.cookie ^ 1),
        # With all that an eavesdropper knows, but from another NIC.
        "address": flow.but(sender=evil.mac),
        "unknown_flow": flow.but(destination_port=credit.destination_port + 1),
        "session": flow.but(session=credit.session + 1000),
        "kind": flow.but(kind=10),
        "version": flow.but(version=1),
        "not_ours": flow.but(to="ff:ff:ff:ff:ff:ff"),
    }
    to_sender = {reason: refused(daemons[0], reason) for reason in forged}
    backwards = credit.but(to=two.mac, sender=one.mac, number=9)
    to_receiver = {
        "cookie": [backwards.but(kind=kind, cookie=1) for kind in (REQUEST, STOP)],
        "address": [backwards.but(kind=kind, sender=EVIL, session=9) for kind in (REQUEST, STOP)],
        "unknown_flow": [backwards.but(kind=kind, source_port=1) for kind in (ACCEPT, STOPPED)],
    }
    with Tap(evil) as tap:
        # Most frames are lost at the switch, among true credits at the full rate. The order is random, so that no kind
        # of frame always finds the queue full.
        to_one = [control for _ in range(100) for control in forged.values()]
        to_two = [control for _ in range(50) for each in to_receiver.values() for control in each]
        for frames in (to_one, to_two):
            random.Random(1).shuffle(frames)
            tap.send(frames, per_second=2000)
    for reason, before in to_sender.items():
        wait_until(lambda why=reason, least=before: refused(daemons[0], why) > least, f"the sender refuses {reason}")
    for reason in to_receiver:
        wait_until(lambda why=reason: refused(daemons[1], why) > 0, f"the receiver refuses {reason}")
    assert moving.wait().stall_s < STALL_S


@pytest.mark.slow
def test_a_credit_that_comes_again_releases_nothing_though_it_is_true_to_the_last_byte(trio: Network) -> None:
    one, two, evil = trio.hosts
    daemons = both([one, two])
    moving = Exchange(one, two, SIZE)
    moving.wait_for(0.05)
    with Tap(one) as seen, Tap(evil) as tap:
        for _ in range(20):
            tap.send([seen.first(CREDIT)] * 20, per_second=2000)
    time.sleep(0.2)
    # Most of the 400 frames are lost at the switch, among true credits at the full rate. A credit of a session that has
    # ended meanwhile is refused as such.
    assert refused(daemons[0], "replayed") + refused(daemons[0], "session") >= 20
    assert moving.wait().stall_s < STALL_S


def rubbish(to: str, sender: str, seed: int) -> Iterator[bytes]:
    """Frames of our EtherType that never end: random bytes, true beginnings cut off, true frames with changed bits."""
    random_of = random.Random(seed)
    header = mac(to) + mac(sender) + ETHERTYPE.to_bytes(2, "big")
    while True:
        kind = random_of.choice((REQUEST, STOP, ACCEPT, STOPPED, CREDIT, 10, 99))
        true = Control(to, sender, kind, "10.0.0.1", "10.0.0.2", random_of.randrange(65536), 8000).to_bytes()
        yield header + random_of.randbytes(random_of.randrange(1486))
        yield true[: 14 + random_of.randrange(46)]
        at = random_of.randrange(14, 60)
        yield true[:at] + random_of.randbytes(1) + true[at + 1 :]
        yield header + bytes((2, kind)) + random_of.randbytes(44)


@contextmanager
def meanwhile(tap: Tap, frames: Iterator[bytes | Control], per_second: float) -> Iterator[list[int]]:
    """Sends frames from another thread inside the block; the list holds how many, and after it how many left."""
    stopped, sent = threading.Event(), [0]

    def until_stopped() -> Iterator[bytes | Control]:
        for frame in frames:
            if stopped.is_set():
                return
            yield frame
            sent[0] += 1

    def work() -> None:
        sent[0] = tap.send(until_stopped(), per_second)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield sent
    finally:
        stopped.set()
        thread.join()


@pytest.mark.slow
def test_thousands_of_malformed_frames_a_second_are_counted_and_the_transfer_goes_on(trio: Network) -> None:
    one, two, evil = trio.hosts
    daemons = both([one, two])
    memory = [daemon.rss_bytes() for daemon in daemons]
    with Tap(evil) as tap:
        for place, (target, pretended) in enumerate(((one, two), (two, one))):
            moving = Exchange(one, two, SIZE // 3, port=8000 + place)
            moving.wait_for(0.1)
            with meanwhile(tap, rubbish(target.mac, pretended.mac, place), 5000) as sent:
                assert moving.wait().stall_s < STALL_S
            # The switch limits frames of our EtherType to 5.2 Mbit/s, so few of the large ones come.
            counted = sum(refused(daemons[place], reason) for reason in ("truncated", "version", "kind"))
            assert counted > 500 < sent[0]
    assert all(daemon.runs for daemon in daemons)
    assert all(now.rss_bytes() - before < MEMORY for now, before in zip(daemons, memory, strict=True))


def requests(target: str, sender: str, victim: str, addresses: Iterator[str]) -> Iterator[Control]:
    """Requests for credits that never end, each for another flow."""
    for count, address in enumerate(addresses):
        port = 1 + count % 65535
        yield Control(target, sender, REQUEST, address, victim, port, 80, cookie=count, number=100, value=10**8)


def forever(*addresses: str) -> Iterator[str]:
    """The same addresses again and again."""
    while True:
        yield from addresses


def many() -> Iterator[str]:
    """Addresses of a large network, all of which the attacker invents."""
    while True:
        for number in range(1, 1 << 20):
            yield f"11.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def bounded(daemon: Daemon, before: float) -> None:
    """Asserts that the daemon is within its bounds."""
    now = stats(daemon)
    assert now['flows_received{state="credited"}'] + now['flows_received{state="stopped"}'] <= 65536
    assert sum(value for name, value in now.items() if name.startswith("peers{")) <= 65536
    assert daemon.rss_bytes() - before < MEMORY


@pytest.mark.parametrize(
    "forged", [pytest.param(False, id="one host", marks=pytest.mark.full), pytest.param(True, id="many forged hosts")]
)
def test_a_flood_of_requests_is_bounded_and_another_pair_keeps_most_of_its_rate(trio: Network, forged: bool) -> None:
    one, two, evil = trio.hosts
    daemons = both([one, two])
    before = daemons[1].rss_bytes()
    moving = Exchange(one, two, 4 * SIZE)
    moving.wait_for(0.1)
    begin = time.monotonic()
    time.sleep(1.5)
    calm = moving.goodput_bps(begin, time.monotonic())
    with Tap(evil) as tap:
        addresses = many() if forged else forever(evil.address)
        with meanwhile(tap, requests(two.mac, evil.mac, two.address, addresses), 5000) as sent:
            time.sleep(1.0)
            begin = time.monotonic()
            # So many leave in half a second; on a busy machine they wait for a processor, and the flood takes longer.
            while (now := time.monotonic()) < begin + 1.5 or (sent[0] <= 2000 and now < begin + 6):
                time.sleep(0.05)
            flooded = moving.goodput_bps(begin, now)
            bounded(daemons[1], before)
    assert moving.wait().stall_s < STALL_S
    assert sent[0] > 2000
    assert stats(daemons[1])["requests_received_total"] > 0.4 * sent[0]
    assert flooded > 0.5 * calm
