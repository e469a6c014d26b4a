"""`clearway view`: the start of the page, the file that holds it, and a server that only its own page reaches."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import clearway
from clearway import _clearway
from clearway.command import cli
from clearway.view import bundle, limits
from clearway.view.server import Server
from clearway.view.sources import Asked, opened
from clearway.view.start import MARK, Expected, Scene, Side, with_start

#: Stands for the bundle, which `make web` builds.
PAGE = '<!doctype html><html><head><meta charset="utf-8" /><title>Clearway</title></head><body></body></html>'

#: The scenario of a list of flows, which it names by a path of its own folder.
LISTED = """\
transport = "dctcp"

[topology]
kind = "star"
hosts = 3

[[traffic]]
kind = "file"
path = "lists/flows.csv"
"""
FLOWS = "src,dst,start,size\nh1,h0,0 s,10 KB\nh2,h0,0 s,10 KB\n"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A scenario with a list of flows."""
    folder = tmp_path / "there"
    (folder / "lists").mkdir(parents=True)
    (folder / "lists" / "flows.csv").write_text(FLOWS)
    (folder / "listed.toml").write_text(LISTED)
    return folder / "listed.toml"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation with a bundle."""
    monkeypatch.setattr(bundle, "page", lambda: PAGE)


def view(*arguments: object) -> None:
    """Calls the command in this process."""
    cli.main(["view", *map(str, arguments)], standalone_mode=False)


def start_of(page: str) -> Any:
    """The JSON that a page starts with, read as the browser does: up to the first end of a script."""
    assert page.count(MARK) == 1
    return json.loads(page.partition(MARK)[2].partition("</script>")[0])


@pytest.mark.usefixtures("built")
def test_a_scenario_is_shown_as_it_is_written_with_the_files_that_it_names(listed: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    view(listed, "--transports", "expresspass,dctcp", "--seed", 2**64 - 1, "--html", out, "-q")
    (scene,) = start_of(out.read_text("utf-8"))["scenarios"]
    assert scene["name"] == "listed"
    assert scene["files"] == {"lists/flows.csv": FLOWS}
    assert [side["transport"] for side in scene["sides"]] == ["expresspass", "dctcp"]
    for side in scene["sides"]:
        assert side["text"] == f'name = "listed"\n{LISTED}'
        assert side["set"] == [["seed", str(2**64 - 1)]]
        assert side["expected"] is None


def test_a_network_or_text_that_the_page_cannot_show_is_refused_before_the_page_is_written(tmp_path: Path) -> None:
    scenario = tmp_path / "large.toml"
    scenario.write_text(
        LISTED.replace('"star"', '"fat-tree"')
        .replace("hosts = 3", "k = 36")
        .replace('kind = "file"\npath = "lists/flows.csv"', 'kind = "incast"')
    )
    with pytest.raises(_clearway.Error) as refused:
        opened([scenario], Asked())
    assert str(refused.value) == (
        f"{scenario}: topology: the network has 11,664 hosts and 34,992 links; the live page draws at most 30,000 links"
    )
    scenario.write_text(SMALL + "\n" * limits.LINES)
    with pytest.raises(_clearway.Error, match=r"large\.toml: the scenario has 20,0[0-9]{2} lines; the live page takes"):
        opened([scenario], Asked())
    scenario.write_text(SMALL + "#" * limits.TEXT)
    with pytest.raises(
        _clearway.Error, match=r"large\.toml: the scenario has 1,000,[0-9]{3} characters; the live page"
    ):
        opened([scenario], Asked())


def test_files_that_the_page_cannot_hold_are_refused_by_the_name_of_the_largest(
    listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (listed.parent / "lists" / "flows.csv").write_bytes(gzip.compress(FLOWS.encode()))
    monkeypatch.setattr(limits, "FILES", len(FLOWS))
    assert len(opened([listed], Asked()).scenes) == 1
    monkeypatch.setattr(limits, "FILES", len(FLOWS) - 1)
    with pytest.raises(
        _clearway.Error, match=r"listed: the files of the page have 0\.0 MB, .* of it lists/flows\.csv; the"
    ):
        opened([listed], Asked())


def test_the_page_takes_what_the_command_does() -> None:
    source = (Path(__file__).parents[2] / "web/src/limits.ts").read_text()
    most = source.partition("MOST = {")[2].partition("}")[0]
    numbers = {name: int(number.replace("_", "")) for name, number in re.findall(r"(\w+): ([0-9_]+),", most)}
    mine = {name.lower(): getattr(limits, name) for name in ("TEXT", "LINES", "FILES", "LINKS", "ENTRIES")}
    assert mine.items() <= numbers.items()


@pytest.mark.usefixtures("built")
def test_a_page_opens_on_the_gallery_without_a_scenario(tmp_path: Path) -> None:
    view("--html", tmp_path / "page.html", "-q")
    start = start_of((tmp_path / "page.html").read_text("utf-8"))
    assert start == {"format": 1, "scenarios": [], "websocket": None}


def test_no_text_of_a_scenario_ends_the_element_that_holds_it() -> None:
    text = "# </script><script>alert(1)</script> <!--"
    page = with_start(PAGE, [Scene("<b>", [Side(text)])])
    assert start_of(page)["scenarios"][0]["sides"][0]["text"] == text
    assert "alert" in page
    assert "<script>alert" not in page
    assert page.index("charset") < 100


def test_a_packed_list_goes_along_unpacked(listed: Path) -> None:
    (listed.parent / "lists" / "flows.csv").write_bytes(gzip.compress(FLOWS.encode()))
    (scene,) = opened([listed], Asked()).scenes
    assert scene.json()["files"] == {"lists/flows.csv": FLOWS}


def test_a_file_that_is_no_text_goes_along_as_bytes() -> None:
    assert Scene("one", [], {"a": b"\xff"}).json()["files"] == {"a": {"base64": "/w=="}}


def test_a_parquet_list_is_refused_in_one_line(listed: Path) -> None:
    run = clearway.run(listed)
    run.flows.select("src", "dst", "size_bytes").with_columns(start_s=0.0).write_parquet(listed.parent / "list.parquet")
    listed.write_text(LISTED.replace("lists/flows.csv", "list.parquet"))
    with pytest.raises(_clearway.Error, match=r"list\.parquet: the live page can't read Parquet; save the list as CSV"):
        opened([listed], Asked())


def test_a_run_is_shown_with_its_hash_and_opens_on_another_machine(listed: Path, tmp_path: Path) -> None:
    run = clearway.run(listed, out=tmp_path / "run")
    (scene,) = opened([tmp_path / "run"], Asked()).scenes
    (side,) = scene.sides
    assert side.expected == Expected(run.hash, clearway.__version__, str(tmp_path / "run"))
    assert scene.files == {"flows.csv": FLOWS.encode()}
    assert str(tmp_path) not in side.text
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "flows.csv").write_bytes(scene.files["flows.csv"])
    (elsewhere / "again.toml").write_text(side.text)
    assert clearway.run(elsewhere / "again.toml").hash == run.hash


def test_the_two_runs_of_a_comparison_stand_side_by_side(tmp_path: Path) -> None:
    compared = clearway.compare(SMALL, ["expresspass", "dctcp"])
    compared.save(tmp_path / "both")
    (scene,) = opened([tmp_path / "both"], Asked()).scenes
    assert scene.name == "small"
    hashes = {side.expected.hash for side in scene.sides if side.expected}
    assert hashes == {run.hash for run in compared.runs.values()}


def test_three_runs_of_a_scenario_stand_each_for_itself(tmp_path: Path) -> None:
    clearway.compare(SMALL, ["expresspass", "dctcp", "dcqcn"]).save(tmp_path / "three")
    scenes = opened([tmp_path / "three"], Asked()).scenes
    assert [len(scene.sides) for scene in scenes] == [1, 1, 1]
    assert {scene.name for scene in scenes} == {str(path) for path in (tmp_path / "three").iterdir()}


def test_a_changed_run_has_no_hash_to_compare_with(small: Path, tmp_path: Path) -> None:
    clearway.run(small, out=tmp_path / "run")
    (scene,) = opened([tmp_path / "run"], Asked(settings=[("seed", "8")])).scenes
    assert scene.sides[0].expected is None
    assert scene.sides[0].settings == [("seed", "8")]


def test_an_interrupted_run_is_shown_without_a_hash(small: Path, tmp_path: Path) -> None:
    part = clearway.run(small, progress=lambda _: False)
    if not part.interrupted:  # It was over before the callback could end it.
        part.summary["ended"] = "interrupted"
    part.save(tmp_path / "part")
    found = opened([tmp_path / "part"], Asked())
    assert found.interrupted == [tmp_path / "part"]
    assert found.scenes[0].sides[0].expected is None


def test_an_edited_run_is_refused(small: Path, tmp_path: Path) -> None:
    clearway.run(small, out=tmp_path / "run")
    scenario = tmp_path / "run" / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("seed = 7", "seed = 8"))
    with pytest.raises(_clearway.Error, match="is damaged or was edited"):
        opened([tmp_path / "run"], Asked())


def test_mistakes_get_one_line(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(bundle, "page", lambda: PAGE)
    wrong = {
        ("nothing.toml",): "nothing.toml",
        ("empty",): "there are no results in this folder",
        (small, "--transports", "dctcp,dctcp"): "name one transport, or two",
        (small, "--transports", "expresspass,dctcp,dcqcn"): "name one transport, or two",
        (small, "--html", "page.html", "--native"): "--html: writes a file and serves nothing",
        (small, "--set", "switch.bufer=1 MB", "--html", "page.html"): "bufer",
        (small, "--html", "small.toml"): "there is a file that this command did not write",
    }
    monkeypatch.chdir(tmp_path)
    for call, message in wrong.items():
        with pytest.raises((_clearway.Error, Exception)) as error:
            view(*call)
        text = error.value.format_message() if hasattr(error.value, "format_message") else str(error.value)
        assert message in text, call
        assert "\n" not in text.strip()
    assert small.read_text() == SMALL


def test_a_missing_bundle_says_how_to_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "files", lambda _: tmp_path)
    assert not bundle.is_there()
    with pytest.raises(_clearway.Error, match="`make web` in the repository builds it"):
        view("--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.usefixtures("built")
def test_a_page_of_this_command_is_replaced_and_a_file_of_others_only_with_force(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    view(small, "--html", out, "-q")
    view(small, "--html", out, "-q", "--seed", 3)
    assert '"set":[["seed","3"]]' in out.read_text("utf-8")
    out.write_text("mine")
    with pytest.raises(_clearway.Error, match="did not write"):
        view(small, "--html", out, "-q")
    view(small, "--html", out, "-q", "--force")
    assert MARK in out.read_text("utf-8")


@pytest.mark.usefixtures("built")
def test_a_notebook_shows_runs_in_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both = clearway.compare(SMALL, ["expresspass", "dctcp"])
    shown = both.view()
    assert shown._repr_html_().startswith('<iframe src="small-live.html"')
    (scene,) = start_of((tmp_path / "small-live.html").read_text("utf-8"))["scenarios"]
    assert [side["expected"]["hash"] for side in scene["sides"]] == [run.hash for run in both.runs.values()]
    one = both.runs["dctcp"].view(tmp_path / "one.html")
    (scene,) = start_of(one.path.read_text("utf-8"))["scenarios"]
    assert [side["expected"]["hash"] for side in scene["sides"]] == [both.runs["dctcp"].hash]


class Echo:
    """Stands for the engine: answers with what it was asked, or with bytes, or with an error."""

    def handle(self, request: str, /) -> str | bytes:
        if request == "panic":
            raise _clearway.SimulationError("the engine panicked")
        return b"CWF3" if request == "frame" else request


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with an engine."""
    server = Server(with_start(PAGE, [], websocket="engine"), stage=Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.close()
    thread.join(10)
    assert not thread.is_alive()


def get(url: str, **headers: str) -> http.client.HTTPResponse:
    """Asks for a page with some headers."""
    _, _, host, path = url.split("/", 3)
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", f"/{path}", headers=headers)
    return connection.getresponse()


def origin(url: str) -> Origin:
    """The origin of an address."""
    return Origin(url.rsplit("/", 2)[0])


def test_the_page_is_served_at_an_address_with_a_token_alone(server: Server) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", server.url)
    page = get(server.url)
    assert page.status == 200
    assert start_of(page.read().decode())["websocket"] == "engine"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert get(f"{origin(server.url)}/").status == 404
    assert get(f"{origin(server.url)}/{'x' * 22}/").status == 404
    assert get(f"{server.url}other").status == 404


def test_a_name_that_was_pointed_at_the_loopback_gets_nothing(server: Server) -> None:
    assert get(server.url, Host="evil.example").status == 403
    assert get(server.url, Host="127.0.0.1.evil.example:80").status == 403
    assert get(server.url, Host="localhost:8000").status == 200


def test_the_engine_answers_the_page_with_texts_and_frames_in_order(server: Server) -> None:
    address = f"{server.url}engine".replace("http", "ws", 1)
    with connect(address, origin=origin(server.url), compression=None) as socket:
        for request in ("one", "frame", "panic", "two"):
            socket.send(request)
        assert [socket.recv(10) for _ in range(4)] == ["one", b"CWF3", '{"error": "the engine panicked"}', "two"]
        socket.send(b"bytes")
        assert "error" in json.loads(socket.recv(10))


def test_the_native_engine_gives_the_hash_of_the_run_over_the_socket(small: Path, tmp_path: Path) -> None:
    run = clearway.run(small, out=tmp_path / "run")
    (side,) = opened([tmp_path / "run"], Asked()).scenes[0].sides
    server = Server(PAGE, stage=_clearway.Stage)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"{server.url}engine".replace("http", "ws", 1)
        with connect(address, origin=origin(server.url)) as socket:

            def ask(**request: Any) -> str | bytes:
                socket.send(json.dumps({"run": 0, **request}))
                return socket.recv(30)

            layout = json.loads(ask(op="open", name="small", text=side.text, transport=None, seed=None, set=[]))
            assert layout["transports"] == ["expresspass"]
            while json.loads(ask(op="advance", until_ps=10**15, events=500))["ended"] is None:
                frame = ask(op="frame", packets=True, queued=True)
                assert isinstance(frame, bytes)
                assert frame[:4] == b"CWF3"
            assert side.expected is not None
            assert json.loads(ask(op="result"))["hash"] == side.expected.hash == run.hash
            assert "error" in json.loads(ask(op="open", text="name = 1", transport=None, seed=None, set=[]))
    finally:
        server.close()
        thread.join(10)


@pytest.mark.parametrize("from_where", [Origin("http://evil.example"), Origin("null"), None])
def test_other_pages_do_not_reach_the_engine(server: Server, from_where: Origin | None) -> None:
    address = f"{server.url}engine".replace("http", "ws", 1)
    with pytest.raises(InvalidStatus) as refused, connect(address, origin=from_where):
        pass
    assert refused.value.response.status_code == 403


def test_the_engine_needs_the_token_too(server: Server) -> None:
    address = f"{origin(server.url)}/engine".replace("http", "ws", 1)
    with pytest.raises(InvalidStatus) as refused, connect(address, origin=origin(server.url)):
        pass
    assert refused.value.response.status_code == 404


def test_an_open_page_does_not_keep_the_server_from_closing() -> None:
    server = Server(PAGE, stage=Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"{server.url}engine".replace("http", "ws", 1)
    with connect(address, origin=origin(server.url)) as socket:
        socket.send("one")
        assert socket.recv(10) == "one"
        server.close()
        thread.join(10)
        assert not thread.is_alive()


def test_a_port_that_is_taken_is_named(server: Server) -> None:
    port = int(server.url.split("/")[2].split(":")[1])
    with pytest.raises(_clearway.Error, match=rf"port {port}: can't be used"):
        Server(PAGE, port)


#: The command with a stand-in for the bundle, as a process of its own.
SERVE = f"""\
import sys
from clearway.start import main
from clearway.view import bundle
bundle.page = lambda: {PAGE!r}
main()
"""


def test_ctrl_c_ends_the_server_cleanly(small: Path) -> None:
    command = [sys.executable, "-c", SERVE, "view", str(small), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert start_of(get(url).read().decode())["scenarios"][0]["name"] == "small"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said
    assert said.splitlines() == ["Ctrl-C ends.", "Closed."]
