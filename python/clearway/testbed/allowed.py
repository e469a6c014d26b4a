"""Congestion controls that namespaces may use.

A namespace other than the machine's own may choose only among those in `net.ipv4.tcp_allowed_congestion_control`, a
setting of the whole machine that says what users without privileges may use. A testbed adds the names that it needs.
DCTCP, which many kernels lack, comes as a BPF program of ours that is loaded for the whole machine too. The last
testbed of the machine takes both back.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from clearway.testbed.shell import TestbedError, call

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: Names that testbeds have added, and the lock on the setting.
ADDED, LOCK = Path("/run/clearway-testbed.allowed"), Path("/run/clearway-testbed.lock")
#: Our programs for the kernel, compiled.
PROGRAMS = Path(__file__).resolve().parents[3] / "crates/linux/bpf"
#: The name of our DCTCP in the kernel.
OWN_DCTCP = "cw_dctcp"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Keeps other testbeds from changing the setting."""
    with LOCK.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def allow(name: str) -> None:
    """Lets namespaces use a congestion control of the kernel, or our own DCTCP."""
    with locked():
        if name == OWN_DCTCP and name not in AVAILABLE.read_text("utf-8").split():
            call("bpftool", "struct_ops", "register", str(PROGRAMS / "dctcp.bpf.o"))
            note(name)
        now = ALLOWED.read_text("utf-8").split()
        if name in now:
            return
        available = AVAILABLE.read_text("utf-8").split()
        if name not in available:
            raise TestbedError(f"congestion control {name!r}: this kernel has {', '.join(available)}")
        ALLOWED.write_text(" ".join([*now, name]), "utf-8")
        note(name)


def note(name: str) -> None:
    """Remembers that a name was added."""
    with ADDED.open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")


def restore() -> None:
    """Takes the names out again that testbeds have added."""
    with locked():
        if not ADDED.exists():
            return
        added = ADDED.read_text("utf-8").split()
        if OWN_DCTCP in added:
            call("bpftool", "struct_ops", "unregister", "name", OWN_DCTCP, check=False)
        left = [name for name in ALLOWED.read_text("utf-8").split() if name not in added]
        with contextlib.suppress(OSError):  # A control that is the default of some namespace stays allowed.
            ALLOWED.write_text(" ".join(left), "utf-8")
        ADDED.unlink()
