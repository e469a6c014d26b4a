"""Applications that know nothing of Clearway, over plain TCP and over ExpressPass: nginx, redis, curl."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path

from clearway.testbed.control import Control
from clearway.testbed.counters import Watch
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.namespace import wait_until
from clearway.testbed.network import Host, Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, GIVEN_UP, UNDERNEATH
from clearway.testbed.shell import TestbedError
from clearway.testbed.traffic import listens
from clearway.testbed.variants import CUBIC, EXPRESSPASS, Variant

SHAPE = Shape(hosts=2)
#: Bytes of the large file, and of the small ones that wrk asks for.
LARGE, SMALL = 1_000_000_000, 10_000
#: Bytes that are made at once.
CHUNK = 1 << 20
#: The units in which wrk gives times.
WRK_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
NGINX = """\
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 80; root {folder}/www; }}
}}
"""


class Web:
    """A web server at a host, with a large file and a small one."""

    def __init__(self, host: Host, folder: Path, size: int) -> None:
        self.host, self.size = host, size
        root = folder / "www"
        root.mkdir()
        folder.chmod(0o755)
        digest, left = hashlib.sha256(), size
        with (root / "large").open("wb") as file:
            while left:
                chunk = os.urandom(min(left, CHUNK))
                file.write(chunk)
                digest.update(chunk)
                left -= len(chunk)
        self.sha256 = digest.hexdigest()
        (root / "small").write_bytes(os.urandom(SMALL))
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder), "utf-8")
        host.start("nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), log="nginx.log")
        wait_until(lambda: listens(host, 80), "nginx listens")

    def download(self, client: Host) -> tuple[float, bool]:
        """Fetches the large file; returns the seconds, and whether its bytes are right."""
        began = time.monotonic()
        command = f"curl -sS --fail --max-time 900 http://{self.host.address}/large | sha256sum"
        said = client.run("bash", "-c", f"set -o pipefail; {command}", timeout_s=1000)
        return time.monotonic() - began, said.split()[0] == self.sha256

    def requests(self, client: Host, seconds: float) -> tuple[float, dict[str, float], int]:
        """Requests per second for the small file, latencies by percentile in seconds, and failed requests."""
        words = ("wrk", "-t1", "-c16", f"-d{seconds:.0f}s", "--latency", f"http://{self.host.address}/small")
        said = client.run(*words, timeout_s=seconds + 60)
        rate = re.search(r"Requests/sec:\s*([\d.]+)", said)
        latencies = {
            p: float(n) * WRK_UNITS[unit] for p, n, unit in re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s|m)\b", said)
        }
        failed = [int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", said)]
        failed += [int(n) for n in re.findall(r"Non-2xx or 3xx responses: (\d+)", said)]
        if rate is None or not latencies:
            raise TestbedError(f"wrk said: {' '.join(said.split())}")
        return float(rate[1]), latencies, sum(failed)


def serve_redis(server: Host) -> None:
    """Starts redis at a host, without files."""
    words = ("redis-server", "--bind", server.address, "--protected-mode", "no", "--save", "", "--appendonly", "no")
    server.start(*words, log="redis.log")
    wait_until(lambda: listens(server, 6379), "redis listens")


def redis(server: Host, client: Host, test: str, requests: int, connections: int = 50) -> tuple[float, float, float]:
    """Requests of one kind per second over so many connections, and p50 and p99 of the latency in seconds."""
    words = ["redis-benchmark", "-h", server.address, "-t", test, "-n", str(requests), "-c", str(connections)]
    words += ["-d", "100", "--csv"]
    (row,) = csv.DictReader(client.run(*words, timeout_s=300).splitlines())
    return float(row["rps"]), float(row["p50_latency_ms"]) / 1e3, float(row["p99_latency_ms"]) / 1e3


def one(cx: Context, variant: Variant, label: str, rows: list[list[Cell]]) -> bool:
    """Measures all applications under one transport; returns whether all bytes were right and no request failed."""
    with tempfile.TemporaryDirectory(prefix="clearway-web-") as folder, Network(variant.shape(SHAPE)) as net:
        server, client = net.hosts
        daemons = variant.start(net.hosts)
        # Plain TCP is there for the rate, which a tenth of the bytes shows as well.
        size = max(int(LARGE * min(cx.scale, 1.0) / (1 if variant.credits else 10)), 1_000_000)
        cx.say(f"{label}: {size / 1e6:,.0f} MB by curl")
        web = Web(server, Path(folder), size)
        with Watch() as watch:
            with Control(net.hosts, daemons) as control:
                took, right = web.download(client)
            figures: list[Cell] = [size * 8 / took / 1e6, None, None, int(not right)]
            rows.append(["curl", "download, Mbit/s", label, *under(control, size), *figures])
            cx.say(f"{label}: wrk")
            with Control(net.hosts, daemons) as control:
                rate, latencies, failed = web.requests(client, cx.seconds(10, 2))
            figures = [rate, latencies["50"] * 1e3, latencies["99"] * 1e3, failed]
            rows.append(["wrk", f"{SMALL // 1000} kB, requests/s", label, *under(control), *figures])
            serve_redis(server)
            for test in ("SET", "GET"):
                cx.say(f"{label}: redis-benchmark, {test}")
                with Control(net.hosts, daemons) as control:
                    rps, p50, p99 = redis(server, client, test.lower(), max(1000, int(50_000 * cx.scale)))
                figures = [rps, p50 * 1e3, p99 * 1e3, 0]
                rows.append(["redis-benchmark", f"{test}, requests/s", label, *under(control), *figures])
        cx.loads.append(watch.load)
        return right and not failed


def under(control: Control, received: int = 0) -> list[Cell]:
    """The cells of a row that say what was under control."""
    share = control.percent(received)
    return [share, None if share is None else control.payload.given_up, control.underneath]


COLUMNS = [
    "application",
    "what",
    "transport",
    CREDITED,
    GIVEN_UP,
    UNDERNEATH,
    "rate",
    "latency p50",
    "latency p99",
    "failed",
]


def run(cx: Context, results: Results) -> None:
    """Measures plain TCP and ExpressPass."""
    rows = list[list[Cell]]()
    right = [one(cx, variant, label, rows) for variant, label in ((CUBIC, "cubic"), (EXPRESSPASS, "expresspass"))]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    results.verdict(
        "curl beside the daemons of ExpressPass gets all bytes right (SHA-256), and no request of wrk fails.",
        "all right" if right[1] else "a checksum is wrong, or requests failed",
        right[1],
    )
    results.tables["applications"] = Table(
        "Unchanged applications between two hosts, without daemons and with those of ExpressPass. The file has "
        f"{LARGE * cx.scale / 1e6:,.0f} MB with them and a tenth of that without; the latencies are in milliseconds.",
        list(COLUMNS),
        rows,
        digits=2,
    )


def notes(results: Results) -> list[str]:
    """The rates of hosts with daemons as shares of those without."""
    rows = results.tables["applications"].rows
    found = []
    for plain, ours in zip(rows[::2], rows[1::2], strict=True):
        share = float(ours[6] or 0) / float(plain[6] or 1)
        found.append(f"{ours[0]}, {ours[1]}: hosts with daemons reach {share:.0%} of hosts without.")
    return found


EXPERIMENT = Experiment(
    "applications",
    "Applications",
    "nginx with wrk, redis-benchmark, and curl of 1 GB with its checksum",
    5.0,
    run,
    needs=("iptables", "nginx", "wrk", "curl", "redis-server", "redis-benchmark"),
    notes=notes,
)
