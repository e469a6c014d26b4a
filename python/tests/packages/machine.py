"""A machine of its own: a root of Debian in which systemd is process 1, on namespaces."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

#: The packages of Debian in a fresh root: systemd and what clearwayd depends on. udev tells systemd of NICs.
BASE = "systemd,udev,iptables,ethtool,iproute2,procps"
SUITE = "bookworm"
#: The environment of commands in a machine.
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8")
#: The NIC of a machine, which systemd-nspawn makes.
NIC = "host0"


def make_base(archive: Path) -> None:
    """Writes a fresh root as a tar archive, from Debian's archive."""
    words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={BASE}", SUITE, str(archive)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def unpack(archive: Path, root: Path) -> None:
    """Unpacks a root."""
    root.mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root], check=True)


class Machine:
    """A root in which systemd runs while this value is entered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: subprocess.Popen[bytes] | None = None
        self.leader = 0
        # At boot, udev would go through all devices of the real machine, which the root sees in /sys.
        (root / "etc/systemd/system/systemd-udev-trigger.service").symlink_to("/dev/null")

    def __enter__(self) -> Machine:
        words = [
            "systemd-nspawn",
            "--quiet",
            "--register=no",
            "--keep-unit",
            "--network-veth",
            "--boot",
            f"--machine=cw{os.getpid()}",
        ]
        # A real machine has these too, and mounts the file system of BPF at boot.
        words += ["--capability=CAP_BPF,CAP_PERFMON", "--system-call-filter=bpf"]
        self.log = (self.root.parent / "nspawn.log").open("wb")
        self.process = subprocess.Popen(
            [*words, f"--directory={self.root}"],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            # udev runs only where /sys can be written.
            env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "1"},
        )
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self) -> None:
        """Waits until systemd has booted, and mounts and tells it what a real machine has."""
        until = time.monotonic() + 60
        while "running" not in self.state() and time.monotonic() < until:
            time.sleep(0.2)
        assert self.state() in {"running", "degraded"}, (self.root.parent / "nspawn.log").read_text()
        self.run("mkdir --parents /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf")
        self.run("udevadm trigger --subsystem-match=net --action=add && udevadm settle")

    def __exit__(self, *_: object) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def state(self) -> str:
        """The state of systemd: "running" once it has booted, "" before it answers."""
        assert self.process
        assert self.process.poll() is None, (self.root.parent / "nspawn.log").read_text()
        self.leader = self.leader or init_below(self.process.pid)
        return self.run("systemctl is-system-running", check=False).strip() if self.leader else ""

    def run(self, command: str, check: bool = True) -> str:
        """Runs a line of shell as root, and returns what it printed."""
        root = f"/proc/{self.leader}/root"
        enter = ["nsenter", "--target", str(self.leader), *["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]]
        done = subprocess.run(
            [*enter, f"--root={root}", f"--wd={root}", *ENVIRONMENT, "sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{command}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout


def init_below(pid: int) -> int:
    """The process below another one that is process 1 of its own namespace; 0 if there is none yet."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            status = Path(f"/proc/{child}/status").read_text()
        except OSError:
            continue
        numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
        if len(numbers) > 2 and numbers[-1] == "1":
            return int(child)
        if found := init_below(int(child)):
            return found
    return 0
