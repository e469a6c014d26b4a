/**
 * The view protocol: what a page asks the engine, and the engine's answers. The page
 * `docs/reference/view-protocol.md` describes it byte by byte; the Rust crate `clearway-view` implements the other side.
 *
 * Times are integers of picoseconds below 2^53.
 */

/** A file that scenarios may name: text, or bytes in base64. */
export type FileContent = string | { base64: string };

/** A request to the engine. Runs are told apart by numbers that the caller chooses. */
export type Request =
  | { op: 'catalog' }
  | { op: 'files'; files: Record<string, FileContent> }
  | EstimateRequest
  | OpenRequest
  | { op: 'advance'; run: number; until_ps?: number | null; events?: number | null }
  | ({ op: 'frame'; run: number } & FrameOptions)
  | { op: 'port'; run: number; port: number }
  | { op: 'flow'; run: number; flow: number }
  | { op: 'finished'; run: number; from: number }
  | { op: 'result'; run: number }
  | { op: 'findings'; facts: Facts[] }
  | { op: 'resolved'; run: number }
  | { op: 'close'; run: number };

/** What to simulate. It takes the place of any run of this number. */
export interface ScenarioRequest {
  run: number;
  /** The name in error messages. */
  name: string;
  /** The scenario in TOML. */
  text: string;
  /** The transport of all traffic, in place of the scenario's. */
  transport?: string | null;
  seed?: number | null;
  /** Keys and values that replace the scenario's, such as `['traffic.web.load', '0.4']`. */
  set?: [string, string][];
  /** The most links that the network may have: a larger one is refused before it is built. */
  links?: number | null;
}

/** Asks what a run will take, and opens none. */
export interface EstimateRequest extends ScenarioRequest {
  op: 'estimate';
}

/** Opens a run. */
export interface OpenRequest extends ScenarioRequest {
  op: 'open';
}

/** Says what a frame shall contain beside ports and active flows; both are true if left out. */
export interface FrameOptions {
  packets?: boolean;
  queued?: boolean;
}

/** The answer to `catalog`. */
export interface Catalog {
  version: string;
  transports: { name: string; title: string; family: string; summary: string }[];
}

/** The answer to `estimate`: what the run will take, before anything of it is built but its network. */
export interface Needs {
  hosts: number;
  switches: number;
  links: number;
  /** The number of traffic entries. */
  entries: number;
  flows: number;
  live_flows: number;
  /** Rows of all sampled series. */
  samples: number;
  simulated_s: number;
  /** Bytes of memory. */
  bytes: number;
  /** Processor time of the whole run in the native engine. */
  cpu_s: number;
  /** Remarks on a scenario whose results could mislead, a sentence each. */
  warnings: string[];
}

export interface Node {
  id: number;
  name: string;
  /** A further name that says what the node is, such as `leaf0`. */
  alias: string | null;
  kind: 'host' | 'switch';
  /** 0 for a host, 1 for a switch next to hosts, 2 and 3 above. Switches of a network without tiers have 1. */
  tier: number;
}

/** An output port, with one direction of a link. */
export interface Port {
  id: number;
  name: string;
  from: number;
  to: number;
  rate_bps: number;
  delay_ps: number;
  /** The limit of the queues of data together; `null` where there is none. */
  buffer_bytes: number | null;
  /** The rate limit of credits on the wire; `null` where ports don't limit credits. */
  credit_bps: number | null;
}

/** The answer to `open`: the network and what will run on it. */
export interface Layout {
  name: string;
  transports: string[];
  seed: number;
  stop_ps: number | null;
  flows_expected: number | null;
  nodes: Node[];
  ports: Port[];
  /** The names of the kinds of packets, to which the numbers in frames are indices. */
  kinds: string[];
  /** True if switches may cut packets to their headers. */
  trims: boolean;
  /** The traffic entries. */
  entries: { name: string; kind: string; transport: string }[];
  estimate: { link_transmissions: number | null; bytes: number };
  /** Remarks on a scenario whose results could mislead, a sentence each. */
  warnings: string[];
}

export type Ended = 'complete' | 'stopped' | 'stalled' | 'deadlocked' | 'livelocked';

/** The answer to `advance`. */
export interface Progress {
  now_ps: number;
  ended: Ended | null;
  events: number;
  link_transmissions: number;
  /** Congestion notification packets sent, by receivers and by switches. */
  cnps: number;
  flows_started: number;
  flows_completed: number;
}

/** The answer to `port`. Counters are totals since the start of the run. */
export interface PortView {
  /** The bytes of data that wait; a frame that is leaving does not wait. */
  queue_bytes: number;
  credit_queue_bytes: number;
  by_class: { class: string; credits: boolean; bytes: number; packets: number; paused: boolean }[];
  /** The packets that wait, the first one first, at most 256. */
  queued: { flow: number | null; kind: string; bytes: number; marked: boolean; retransmission: boolean; trimmed: boolean; entropy: number | null }[];
  /** The packets dropped, by reason: `buffer`, `credit` (at the credit limit), `loss`, `down`. */
  drops: Record<'buffer' | 'credit' | 'loss' | 'down', number>;
  counters: {
    sent_packets: number;
    sent_bytes: number;
    sent_data_bytes: number;
    sent_credits: number;
    marks: number;
    /** The packets that were cut to their headers. */
    trims: number;
    /** The pause frames that this port sent; `pauses` counts the times that it was stopped itself. */
    pauses_sent: number;
    pauses: number;
    paused_ps: number;
    cnps: number;
  };
  paused: boolean;
  up: boolean;
  transmitting: boolean;
}

/** The answer to `flow`. What a transport does not have is `null`. */
export interface FlowView {
  flow: number | null;
  entry: string;
  number: number;
  source: number;
  destination: number;
  transport: string;
  /** The bytes to send; `null` while that is open. */
  size_bytes: number | null;
  delivered_bytes: number;
  start_ps: number;
  end_ps: number | null;
  ideal_ps: number;
  /** The ports that the data crosses, from the source on. */
  path: number[];
  window_bytes: number | null;
  rate_bps: number | null;
  srtt_ps: number | null;
  retransmits: number;
  timeouts: number;
  notices: number;
  state: 'idle' | 'sending' | 'delivered' | 'ended';
}

/** A row of the answer to `finished`. */
export interface FinishedFlow {
  flow: number;
  entry: string;
  number: number;
  source: number;
  destination: number;
  size_bytes: number;
  start_ps: number;
  fct_ps: number;
  ideal_ps: number;
  slowdown: number;
}

/** The answer to `finished`: flows that have finished since row `from`; ask on from `next`. */
export interface Finished {
  rows: FinishedFlow[];
  next: number;
}

/** Numbers on a run of which the engine makes sentences; the page gives them the name of the side. */
export type Facts = { name: string } & Record<string, unknown>;

/** The answer to `findings`. */
export interface Findings {
  findings: { kind: 'flows' | 'ahead' | 'behind' | 'queue' | 'lost' | 'limit'; text: string }[];
}

/** The answer to `result`, after the end of a run whose books balance. */
export interface Result {
  hash: string;
  /** What `findings` makes sentences of. */
  facts: Facts;
  summary: {
    ended: Ended | 'interrupted';
    end_ps: number;
    events: number;
    link_transmissions: number;
    flows_started: number;
    flows_completed: number;
    cnps: number;
    /** The window of measurement, if the scenario sets it: flows count that start in it. */
    measure: { from_ps: number; until_ps: number } | null;
    packets: Record<string, number>;
    bytes: Record<string, number>;
    credits: Record<string, number>;
    /** What went on at one instant without end, if that ended the run. */
    livelock?: { at_ps: number; what: string } | null;
    flow_control: { pauses: number; storms: string[]; deadlock: string[]; circle: string[] } | null;
  };
}
