"""Commands of the machine, and what the machine lacks for a testbed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from clearway._clearway import Error

#: Programs that every testbed needs -> the Debian package that has them.
PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "ethtool": "ethtool",
    "sysctl": "procps",
    "iptables": "iptables",
    "iperf3": "iperf3",
    "tcpdump": "tcpdump",
    "bpftool": "bpftool",
    "nginx": "nginx",
    "wrk": "wrk",
    "curl": "curl",
    "redis-server": "redis-server",
    "redis-benchmark": "redis-tools",
    "ping": "iputils-ping",
}
ROOT = Path(__file__).resolve().parents[3]
#: Programs without which no network can be made.
NEEDED = ("ip", "tc", "nsenter", "ethtool", "sysctl")


class TestbedError(Error):
    """The machine refused something, or lacks something."""

    __test__ = False  # Pytest takes classes whose names begin so for tests.


def call(*words: str, stdin: str | None = None, check: bool = True, timeout_s: float = 60.0) -> str:
    """Runs a command and returns what it printed; raises `TestbedError` with its complaint if it fails."""
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError:
        raise TestbedError(f"{words[0]}: no such program; {package_of(words[0])}") from None
    except subprocess.TimeoutExpired:
        raise TestbedError(f"{' '.join(words)}: still runs after {timeout_s:g} s") from None
    if check and done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise TestbedError(f"{' '.join(words)}: exit code {done.returncode}: {said}")
    return done.stdout


def binary() -> Path:
    """The daemon's program: `$CLEARWAYD`, else what `make clearwayd` built, else the one on the path."""
    named = os.environ.get("CLEARWAYD")
    found = shutil.which("clearwayd")
    places = [Path(named)] if named else [ROOT / "target/release/clearwayd", *([Path(found)] if found else [])]
    for place in places:
        if os.access(place, os.X_OK):
            return place.absolute()
    raise TestbedError(f"{places[0]}: there is no such program; run `make clearwayd`, or set CLEARWAYD")


def package_of(program: str) -> str:
    """The advice to install a program."""
    package = PACKAGES.get(program)
    return f"install the Debian package {package}" if package else "install it"


def lacking(*programs: str) -> str | None:
    """Says why no testbed can be made here, or None if one can; `programs` are needed besides the usual ones."""
    for program in dict.fromkeys((*NEEDED, *programs)):
        if shutil.which(program) is None:
            return f"needs {program}; {package_of(program)}"
    try:
        binary()
    except TestbedError as error:
        return f"needs clearwayd; {error}"
    return refused()


@cache
def refused() -> str | None:
    """Says why this machine allows no namespace, no veth pair or no HTB queue, or None if it allows them."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux; run as root"
    name = f"cw-try-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "needs network namespaces; run where they are allowed, as in docker run --privileged"
    tries: tuple[Sequence[str], ...] = (
        ("ip", "-n", name, "link", "add", "va", "type", "veth", "peer", "name", "vb"),
        ("ip", "-n", name, "link", "add", "br0", "type", "bridge"),
        ("tc", "-n", name, "qdisc", "add", "dev", "va", "root", "handle", "1:", "htb"),
    )
    try:
        for words in tries:
            if subprocess.run(words, capture_output=True, check=False).returncode:
                return f"needs a kernel that takes `{' '.join(words)}`; load or build its module"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None
