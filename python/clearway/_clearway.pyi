from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Protocol, TypedDict, final

__all__ = [
    "Column",
    "Error",
    "Progress",
    "Results",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Stage",
    "Stepped",
    "Table",
    "Trace",
    "__build__",
    "__commit__",
    "__profile__",
    "__sources__",
    "__version__",
    "_panic_for_tests",
    "findings",
    "flow_facts",
    "flows_at_once",
    "network",
    "node",
    "paths",
    "plan_buffers",
    "plan_switches",
    "scenario_reference",
    "scenario_tables",
    "scenarios",
    "suggestion",
    "sweep_findings",
    "topologies",
    "transports",
    "unpacked",
    "vector_names",
    "vectors",
    "workloads",
]

__version__: str
__build__: str
__commit__: str | None
__profile__: str
__sources__: str

class Error(Exception): ...
class ScenarioError(Error): ...
class SimulationError(Error): ...

class _Parameter(TypedDict):
    name: str
    kind: str
    default: str
    min: str
    max: str
    source: str
    doc: str
    forms: list[dict[str, Any]]

class _Kind(TypedDict):
    name: str
    doc: str
    keys: list[_Parameter]

class _Table(TypedDict):
    path: str
    many: bool
    doc: str
    keys: list[_Parameter]
    kinds: list[_Kind]

class _Profile(TypedDict):
    name: str
    doc: str
    values: dict[str, str]

class _Transport(TypedDict):
    name: str
    summary: str
    source: str
    checked: str
    checked_how: str
    parameters: list[_Parameter]
    profiles: list[_Profile]

class _Topology(TypedDict):
    name: str
    summary: str
    names: str
    keys: dict[str, str]

class _Workload(TypedDict):
    name: str
    summary: str
    mean_bytes: float
    points: list[tuple[int, float]]
    notes: list[str]

class _EntryEstimate(TypedDict):
    name: str
    flows: int
    live_flows: int
    memory_bytes: int

class _SeriesEstimate(TypedDict):
    name: str
    rows: int
    memory_bytes: int

class _Warning(TypedDict):
    transport: str
    kind: str
    text: str

class _TierShare(TypedDict):
    tier: str
    asked: float

class _Estimate(TypedDict):
    hosts: int
    switches: int
    links: int
    path_links: float
    simulated_s: float
    flows: int
    open_flows: int
    live_flows: int
    payload_bytes: int
    packets: int
    link_transmissions: int
    traffic: list[_EntryEstimate]
    tiers: list[_TierShare]
    payload_share_max: float
    samples: list[_SeriesEstimate]
    network_bytes: int
    memory_bytes: int
    streamed_memory_bytes: int
    disk_bytes: int
    cpu_s: float
    how: dict[str, str]

class _Partition(TypedDict):
    parts: int
    refusal: str | None
    loads: list[float]
    hosts: list[int]
    switches: list[int]
    cut_links: int
    cut_traffic: float
    width_s: float | None
    blocks: list[int]

class _Example(TypedDict):
    name: str
    summary: str
    text: str

def scenarios() -> list[_Example]: ...
def transports() -> list[_Transport]: ...
def topologies() -> list[_Topology]: ...
def workloads() -> list[_Workload]: ...
def scenario_reference() -> str: ...
def suggestion(word: str, known: Sequence[str]) -> str: ...
def unpacked(content: bytes) -> bytes: ...
def vectors(algorithm: str, reading: str, *, seed: int = 1) -> str: ...
def vector_names() -> tuple[list[str], list[str]]: ...
def scenario_tables() -> list[_Table]: ...
def network(scenario: Scenario) -> dict[str, Any]: ...
def node(scenario: Scenario, name: str) -> int: ...
def paths(scenario: Scenario, src: int, dst: int) -> dict[str, Any]: ...
def plan_buffers(
    scenario: Scenario,
    *,
    credit_queue: int | None = None,
    credit_sizes: tuple[int, int] | None = None,
    host_delay_s: tuple[float, float] | None = None,
    switch_delay_s: float = 0.0,
    flows: int = 16,
    busy_s: float = 0.001,
    turns: bool = True,
    udp: bool = False,
    leftover: int = 0,
    pairs: int = 0,
) -> dict[str, Any]: ...
def plan_switches(scenario: Scenario) -> list[dict[str, Any]]: ...
def _panic_for_tests(seed: int) -> None: ...

@final
class Progress:
    @property
    def now_s(self) -> float: ...
    @property
    def stop_s(self) -> float | None: ...
    @property
    def events(self) -> int: ...
    @property
    def link_transmissions(self) -> int: ...
    @property
    def flows_started(self) -> int: ...
    @property
    def flows_completed(self) -> int: ...
    @property
    def flows_expected(self) -> int | None: ...

class _Checkpoint(Protocol):
    @property
    def folder(self) -> str: ...
    @property
    def every_s(self) -> float: ...
    def resumed(self, simulated_s: float, /) -> object: ...
    def saved(self) -> object: ...

@final
class Scenario:
    @staticmethod
    def load(
        path: str | PathLike[str],
        *,
        transport: str | None = None,
        seed: int | None = None,
        set: Sequence[tuple[str, str]] = ...,
        memory: int | None = None,
        disk: int | None = None,
    ) -> Scenario: ...
    @staticmethod
    def parse(
        text: str,
        origin: str,
        base_dir: str | PathLike[str],
        *,
        transport: str | None = None,
        seed: int | None = None,
        set: Sequence[tuple[str, str]] = ...,
        memory: int | None = None,
        disk: int | None = None,
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def with_seed(self, seed: int) -> Scenario | None: ...
    def estimate(self) -> _Estimate: ...
    def warnings(self) -> list[_Warning]: ...
    def partition(self, parts: int) -> _Partition: ...
    def to_toml(self) -> str: ...
    def run(
        self,
        progress: Callable[[Progress], object] | None = None,
        *,
        spool: str | PathLike[str] | None = None,
        part_rows: int = ...,
        threads: int = ...,
        checkpoint: _Checkpoint | None = None,
        memory: int | None = None,
    ) -> Results: ...

@final
class Stepped:
    def __new__(cls, scenario: Scenario) -> Stepped: ...
    @property
    def progress(self) -> Progress: ...
    @property
    def ended(self) -> str | None: ...
    def step(self, until: str | None = None, by: str | None = None, events: int | None = None) -> bool: ...
    def ports(self) -> Table: ...
    def queued(self, port: str | None = None) -> Table: ...
    def in_flight(self) -> Table: ...
    def flows(self) -> Table: ...
    def finished(self) -> Table: ...
    def path(self, flow: int) -> list[str]: ...
    def finish(self) -> Results: ...

@final
class Results:
    @property
    def tables(self) -> list[Table]: ...
    @property
    def traces(self) -> list[Trace]: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def hash(self) -> str: ...

@final
class Trace:
    @property
    def name(self) -> str: ...
    @property
    def table(self) -> Table: ...
    def files(self, scenario: str) -> dict[str, bytes]: ...

@final
class Table:
    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def parts(self) -> int: ...
    def part(self, index: int) -> Table: ...
    @property
    def columns(self) -> list[Column]: ...

@final
class Column:
    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def texts(self) -> list[str] | None: ...
    def bytes(self) -> bytes: ...

def flow_facts(
    *,
    size_bytes: bytes,
    start_s: bytes,
    fct_s: bytes,
    slowdown: bytes,
    delivered_bytes: bytes,
    traffic: bytes,
    names: list[str],
    end_s: float,
) -> str: ...
def flows_at_once(start_s: bytes, fct_s: bytes) -> int: ...
def findings(facts: str) -> list[tuple[str, str]]: ...
def sweep_findings(points: str) -> list[tuple[str, str]]: ...

@final
class Stage:
    def __new__(cls, *, memory: int | None = None) -> Stage: ...
    def handle(self, request: str) -> str | bytes: ...
