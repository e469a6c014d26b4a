"""Packages of the daemon: installed, started, stopped and removed in fresh roots.

`make test-packages` runs these tests as root, after `make packages`; they take minutes and Debian's archive.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY
from skips import skip

from packages.machine import NIC, Machine, make_base, unpack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.packages,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("able"),
]
DIST = REPOSITORY / "dist"
PROGRAM, CONFIG = "usr/sbin/clearwayd", "etc/clearway/clearwayd.toml"
UNITS = ("usr/lib/systemd/system/clearwayd@.service", "usr/lib/systemd/system/clearwayd-switch.service")
HELD = "iptables-save -t mangle | grep NFQUEUE"


@pytest.fixture(scope="session")
def able() -> None:
    """Skips the test where roots can't be made or entered."""
    if sys.platform != "linux" or os.geteuid() != 0:
        skip("root on Linux", "run as root")
    for program, package in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container"), ("rpm", "rpm")):
        if shutil.which(program) is None:
            skip(program, f"apt-get install {package}")


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh root of Debian as an archive."""
    archive = tmp_path_factory.mktemp("base") / "root.tar"
    make_base(archive)
    return archive


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Iterator[Path]:
    """A fresh root."""
    made = tmp_path / "root"
    unpack(base, made)
    yield made
    shutil.rmtree(made)


def may_raise_limits() -> bool:
    """Whether this process, and so what it starts, may raise limits (CAP_SYS_RESOURCE)."""
    sets = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return bool(int(sets["CapEff"], 16) >> 24 & 1)


def package(pattern: str) -> Path:
    """The package in `dist`; the test is skipped where there is none."""
    found = sorted(DIST.glob(pattern))
    return found[-1] if found else skip("packages", "make packages")


def ours(root: Path) -> list[str]:
    """The files of a root that have our name."""
    elsewhere = [word for folder in ("root", "proc") for word in ("-not", "-path", f"{root}/{folder}/*")]
    words = ["find", str(root), "-xdev", "-path", "*clearway*", *elsewhere]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(str(Path(line).relative_to(root)) for line in listed)


def test_the_deb_runs_as_a_service_under_systemd_and_a_purge_leaves_nothing(root: Path) -> None:
    deb = package("clearwayd_*_amd64.deb")
    before_files = ours(root)
    shutil.copy(deb, root / "root/one.deb")
    with Machine(root) as machine:
        offloads = machine.run(f"ethtool -k {NIC}")
        machine.run("dpkg --install /root/one.deb")
        assert machine.run("dpkg --verify clearwayd") == ""
        assert "disabled" in machine.run(f"systemctl is-enabled clearwayd@{NIC}", check=False)
        assert "Nothing is missing" in machine.run(f"clearwayd doctor --dev {NIC}")

        machine.run(f'sed -i \'s/^# rate = "10 Gbps"/rate = "1 Gbps"/\' /{CONFIG} && ip link set {NIC} up')
        machine.run(f"systemctl enable --now clearwayd@{NIC}")
        assert machine.run(f"systemctl is-active clearwayd@{NIC}") == "active\n"
        told = json.loads(machine.run("clearwayd stats --json"))
        assert (told["mode"], told["dev"]) == ("host", NIC)
        assert machine.run(HELD).count("NFQUEUE") == 1
        assert machine.run(f"ethtool -k {NIC}") != offloads
        # The thread that drives has the real-time priority of the unit, and the one for statistics the usual one. While
        # nothing waits, the first has the highest ordinary priority if the unit's limit lets it come back. In a
        # container that may not raise limits, systemd can't set that one.
        limit = machine.run(f"sed --quiet 's/^Max realtime priority *//p' /proc/{told['pid']}/limits").split()[0]
        assert limit == "1" or not may_raise_limits()
        classes = machine.run(f"ps -L -o cls=,ni= -p {told['pid']}").split()
        assert classes == [*(("TS", "-20") if limit == "1" else ("FF", "-")), "TS", "0"], classes
        said = machine.run(f"journalctl -u clearwayd@{NIC}")
        assert "may not have its priority" not in said
        # The unit lets the daemon load the program for small packets, and give up what that takes.
        assert "small packets leave in the kernel" in said, said
        assert machine.run(f"grep CapPrm /proc/{told['pid']}/status").split()[1] == "0000000000003000"

        # A daemon that is killed is started again, and undoes what it had left.
        machine.run(f"systemctl kill --signal=KILL clearwayd@{NIC}")
        restarted = f"[ $(systemctl show -P NRestarts clearwayd@{NIC}) = 1 ] && systemctl is-active -q clearwayd@{NIC}"
        machine.run(f"timeout 20 sh -c 'until {restarted}; do sleep 0.2; done'")
        again = json.loads(machine.run("clearwayd stats --json"))
        assert again["pid"] != told["pid"]
        assert machine.run(HELD).count("NFQUEUE") == 1

        # An upgrade keeps the settings, and restarts what runs.
        machine.run("dpkg --install /root/one.deb")
        assert machine.run(f"systemctl is-active clearwayd@{NIC}") == "active\n"
        assert json.loads(machine.run("clearwayd stats --json"))["pid"] != again["pid"]
        assert 'rate = "1 Gbps"' in (root / CONFIG).read_text()

        machine.run(f"systemctl stop clearwayd@{NIC}")
        assert machine.run(HELD, check=False) == ""
        assert machine.run(f"ethtool -k {NIC}") == offloads
        assert machine.run("ls /run/clearwayd") == ""

        # A removal stops what runs, and keeps the settings.
        machine.run(f"systemctl start clearwayd@{NIC}")
        assert machine.run(HELD).count("NFQUEUE") == 1
        machine.run("dpkg --remove clearwayd")
        assert machine.run(HELD, check=False) == ""
        assert (root / CONFIG).exists()
        assert not (root / PROGRAM).exists()
        machine.run("dpkg --purge clearwayd")
        assert machine.run(f"ethtool -k {NIC}") == offloads
        assert "clearway" not in machine.run("ls -R /run /etc/systemd/system; systemctl list-units --all 'clearwayd*'")
    assert [file for file in ours(root) if "dpkg" not in file and "systemd/timers" not in file] == before_files


def test_the_deb_runs_a_switch_as_a_service_under_systemd(root: Path) -> None:
    shutil.copy(package("clearwayd_*_amd64.deb"), root / "root/one.deb")
    with Machine(root) as machine:
        machine.run("dpkg --install /root/one.deb")
        machine.run("ip link add p1 type veth peer name p2 && ip link add br0 type bridge")
        before = machine.run("tc qdisc show")
        assert "Nothing is missing" in machine.run("clearwayd doctor switch --dev p1,p2")
        machine.run(f"sed -i 's/^ports = .*/ports = \"p1,p2\"/; s/^# ecn = 65/ecn = 65/' /{CONFIG}")
        machine.run("systemctl start clearwayd-switch")
        assert json.loads(machine.run("clearwayd stats --json"))["mode"] == "switch"
        assert machine.run("tc qdisc show").count("qdisc htb") == 2
        machine.run("systemctl stop clearwayd-switch")
        assert "htb" not in before
        assert machine.run("tc qdisc show") == before


def test_the_deb_declares_the_programs_that_the_daemon_calls() -> None:
    deb = package("clearwayd_*_amd64.deb")
    fields = subprocess.run(["dpkg-deb", "--field", deb, "Depends"], capture_output=True, text=True, check=True).stdout
    assert {"iptables", "ethtool", "iproute2", "procps"} <= {one.split()[0] for one in fields.split(",")}


def test_the_rpm_installs_its_files_and_removes_them(root: Path) -> None:
    rpm = package("clearwayd-*.x86_64.rpm")

    def asked(*words: str) -> list[str]:
        return subprocess.run(["rpm", *words], capture_output=True, text=True, check=True).stdout.splitlines()

    listed = asked("--query", "--package", "--list", str(rpm))
    assert {f"/{file}" for file in (PROGRAM, CONFIG, *UNITS)} <= set(listed)
    assert {"iptables", "ethtool", "iproute", "procps-ng"} <= set(asked("-qp", "--requires", str(rpm)))
    assert asked("-qp", "--configfiles", str(rpm)) == [f"/{CONFIG}"]
    before = ours(root)
    # The root has Debian's packages, which rpm does not know.
    asked("--root", str(root), "--install", "--nodeps", str(rpm))
    assert all((root / file.removeprefix("/")).exists() for file in listed)
    version = subprocess.run(["chroot", root, "clearwayd", "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.split()[1] in rpm.name
    asked("--root", str(root), "--erase", "--nodeps", "clearwayd")
    assert ours(root) == before


def test_the_image_runs_a_daemon_with_two_capabilities_and_stops_without_a_trace(tmp_path: Path) -> None:
    root = tmp_path / "image"
    root.mkdir()
    with tarfile.open(package("clearwayd-*-oci.tar")) as archive:
        archive.extractall(tmp_path / "oci", filter="data")
    blobs = tmp_path / "oci/blobs"
    index = json.loads((tmp_path / "oci/index.json").read_text())
    manifest = json.loads((blobs / index["manifests"][0]["digest"].replace(":", "/")).read_text())
    config = json.loads((blobs / manifest["config"]["digest"].replace(":", "/")).read_text())
    for layer in manifest["layers"]:
        words = ["tar", "--extract", "--gzip", "--file", blobs / layer["digest"].replace(":", "/"), "--directory", root]
        subprocess.run(words, check=True)
    assert config["config"]["Entrypoint"] == [f"/{PROGRAM}"]
    # As a container engine does it, with --cap-drop ALL --cap-add NET_ADMIN --cap-add NET_RAW.
    script = f"""
        mount -t proc proc {root}/proc && ip link add {NIC} type veth peer name other && ip link set {NIC} up
        two="setpriv --bounding-set=-all,+net_admin,+net_raw --inh-caps=-all"
        held() {{ chroot {root} iptables-save -t mangle | grep -c NFQUEUE; }}
        chroot {root} $two clearwayd host --dev {NIC} --rate 1Gbps & daemon=$!
        for _ in $(seq 50); do sleep 0.1; chroot {root} clearwayd stats --json 2>/dev/null && break; done
        held; kill $daemon; wait $daemon; echo "ended with $?"; held
    """
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told, *rest = done.stdout.splitlines() or [""]
    assert rest == ["1", "ended with 0", "0"], done.stdout + done.stderr
    assert json.loads(told)["dev"] == NIC
