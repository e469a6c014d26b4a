/**
 * The sliders: which numbers of a scenario they change, the values to choose from, and the scenario's text with another
 * value. The text stays the only source: a slider reads its value there, and writes it there.
 */

import { parse, patch } from "@decimalturn/toml-patch";

/** The keys between the root of a scenario and a value. Numbers count entries of a list. */
type Path = readonly (string | number)[];
type Value = string | number | boolean | null | undefined;
type Table = Record<string, unknown>;

/** A value that a slider can take. */
export interface Choice {
  /** What people read: `100 KB`, `8`, `by rate`. */
  readonly words: string;
  /** What the text says for it; null where it has no such key. */
  readonly value: string | number | null;
}

/** A slider. */
export interface Knob {
  readonly label: string;
  readonly title: string;
  readonly path: Path;
  readonly choices: readonly Choice[];
  /** The choice that the text has. */
  readonly index: number;
}

/** What a scenario says of one side. */
export interface Given {
  /** The scenario's text as it is shown. */
  readonly text: string;
  /** The text before the reader changed anything. */
  readonly original: string;
  /** The texts with all defaults filled in, one a side that is simulated. */
  readonly resolved: readonly string[];
  /** The same of the original; empty where the page has not simulated that. */
  readonly defaults: readonly string[];
  /** Keys that stand over those of the text on some side, which a slider could not change. */
  readonly set: readonly string[];
}

const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512] as const;
const FLOWS = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000] as const;
const RATES = ["1 Gbps", "2.5 Gbps", "5 Gbps", "10 Gbps", "25 Gbps", "40 Gbps", "50 Gbps", "100 Gbps", "200 Gbps", "400 Gbps"] as const;
const BUFFERS = sizes(10e3, 20e6);
const THRESHOLDS = sizes(5e3, 2e6);
/** The memory of a whole switch. */
const MEMORIES = sizes(500e3, 100e6);

/** Names of kinds of traffic with a number that a slider changes: the key, the label, and what it means. */
const TRAFFIC: Readonly<Record<string, readonly [key: string, label: string, title: string, values: readonly number[]]>> = {
  incast: ["senders", "Senders", "The number of senders that answer at once", COUNTS],
  "partition-aggregate": ["fan_out", "Workers", "The number of workers that are asked", COUNTS],
  poisson: ["flows", "Flows", "The number of flows that arrive", FLOWS],
};

/** Networks whose flows go by their shape: the key that counts them. */
const SHAPES: Readonly<Record<string, readonly [key: string, label: string, title: string]>> = {
  dumbbell: ["pairs", "Pairs of hosts", "The number of hosts that send, and of those that receive"],
  "multi-bottleneck": ["flows", "Flows", "The number of flows that cross both links"],
};

/** Rates of links by their key. */
const LINKS: Readonly<Record<string, readonly [label: string, title: string]>> = {
  rate: ["Link rate", "The rate of host links, and of all links that have no rate of their own"],
  bottleneck_rate: ["Rate between", "The rate of the link between the two switches"],
  uplink_rate: ["Uplink rate", "The rate of the links between leaves and spines"],
  fabric_rate: ["Fabric rate", "The rate of the links between switches"],
};

/** The sliders of a scenario: of keys that its text has, or whose default the engine tells. */
export function knobsOf({ text, original, resolved, defaults, set }: Given): Knob[] {
  const own = parsed(text);
  const before = parsed(original);
  const sides = resolved.map(parsed).filter((one) => one !== null);
  const usual = defaults.map(parsed).filter((one) => one !== null);
  const first = sides[0];
  if (!own || !before || !first) return [];
  const knobs: Knob[] = [];
  const add = (label: string, title: string, path: Path, values: readonly (string | number)[], side: Table = first) => {
    if (set.some((key) => key === path.join("."))) return;
    const now = at(own, path) ?? at(side, path);
    if (!isPlain(now)) return;
    const original = at(before, path);
    const standard = at(usual[sides.indexOf(side)] ?? {}, path);
    // Where the original has no such key, the choice of its default takes the key away again.
    const absent = isPlain(original) ? null : isPlain(standard) ? standard : at(own, path) === undefined ? now : null;
    knobs.push({ label, title, path, ...choicesOf([...values, now, ...(isPlain(original) ? [original] : [])], now, absent) });
  };
  const traffic = list(first, ["traffic"]);
  traffic.forEach((entry, number) => {
    const known = TRAFFIC[String(entry["kind"])];
    if (!known || typeof entry[known[0]] !== "number") return;
    const several = traffic.filter(({ kind }) => kind === entry["kind"]).length > 1;
    const [key, label, title, values] = known;
    add(several ? `${label}, ${String(entry["name"])}` : label, title, ["traffic", number, key], values);
  });
  const shape = SHAPES[String(at(first, ["topology", "kind"]))];
  if (shape && traffic.every(({ kind, pairs }) => kind === "long" && !Array.isArray(pairs))) {
    add(shape[1], shape[2], ["topology", shape[0]], COUNTS.filter((count) => count <= 64));
  }
  if (!list(own, ["switch", "class"]).some((one) => "buffer" in one)) {
    const shared = at(first, ["switch", "shared_buffer"]) !== undefined;
    if (shared) add("Shared buffer", "The memory that all ports of a switch share", ["switch", "shared_buffer"], MEMORIES);
    else add("Buffer", "The longest queue at a port of a switch", ["switch", "buffer"], BUFFERS);
  }
  const marking = ["switch", "marking"];
  const marks = sides.find((side) => ![undefined, "off", "red"].includes(at(side, marking) as string));
  if (marks && !list(own, ["switch", "class"]).some((one) => "marking" in one)) {
    add("ECN threshold K", "Packets that meet a longer queue are marked (ECN)", marking, THRESHOLDS, marks);
  }
  for (const [key, [label, title]] of Object.entries(LINKS)) add(label, title, ["topology", key], RATES);
  return knobs;
}

/** The text of a scenario with a slider at another choice: comments stay as they are. What says the same as the original is the original. */
export function turned({ text, original }: Pick<Given, "text" | "original">, knob: Knob, index: number): string {
  const scenario = parsed(text);
  const choice = knob.choices[index];
  if (!scenario || !choice) return text;
  const senders = knob.path[2] === "senders" ? at(scenario, knob.path) : undefined;
  put(scenario, knob.path, choice.value);
  // A star that has just the senders and their receiver grows and shrinks with them, so that each sender is a host of its own.
  const hosts = ["topology", "hosts"];
  const isStar = at(scenario, ["topology", "kind"]) === "star" && list(scenario, ["traffic"]).length === 1;
  if (typeof senders === "number" && isStar && at(scenario, hosts) === senders + 1) {
    put(scenario, hosts, Number(choice.value) + 1);
  }
  return JSON.stringify(sorted(scenario)) === JSON.stringify(sorted(parsed(original))) ? original : patch(text, scenario);
}

/** What words such as `100 KB`, `10 Gbps` or `8` amount to, in bytes or bit/s; null where they are no amount. */
function amount(words: string): number | null {
  const found = /^([\d.]+)\s*([KMGT]?)(B|bps|)$/.exec(words.replaceAll(",", ""));
  if (!found) return null;
  return Number(found[1]) * { "": 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 }[found[2] as "" | "K" | "M" | "G" | "T"];
}

/** The choices of a slider in their order, and the number of the one that the text has; the value `absent` is that of no key. */
function choicesOf(values: readonly (string | number)[], now: string | number, absent: string | number | null): Pick<Knob, "choices" | "index"> {
  const choices = new Map(values.map((value): [string, Choice] => [wordsOf(value), { words: wordsOf(value), value }]));
  if (absent !== null) choices.set(wordsOf(absent), { words: wordsOf(absent), value: null });
  const ordered = [...choices.values()].sort((a, b) => rank(a.words) - rank(b.words));
  return { choices: ordered, index: ordered.findIndex(({ words }) => words === wordsOf(now)) };
}

/** The place of a choice among others: by its amount. Words that are no amount stand first, but for the lack of a limit. */
function rank(words: string): number {
  const number = amount(words);
  return number ?? (words === "unlimited" ? Number.POSITIVE_INFINITY : -1);
}

function isPlain(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** A table whose keys are in order, so that two that say the same are written the same. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sorted(one)]));
}

function wordsOf(value: string | number): string {
  return typeof value === "number" ? value.toLocaleString("en") : value.replace("by-rate", "by rate");
}

/** Sizes in steps of 1, 2 and 5 with those between, as scenario files write them. */
function sizes(least: number, most: number): string[] {
  const found: string[] = [];
  for (let power = 1e3; power <= most; power *= 10) {
    for (const step of [1, 1.5, 2, 3, 5, 7]) {
      const bytes = step * power;
      if (bytes >= least && bytes <= most) found.push(bytes >= 1e6 ? `${bytes / 1e6} MB` : `${bytes / 1e3} KB`);
    }
  }
  return found;
}

function parsed(text: string): Table | null {
  try {
    return parse(text) as Table;
  } catch {
    // The engine says what is wrong with such a text, and at which line.
    return null;
  }
}

function at(table: unknown, path: Path): Value {
  let found = table as Table | undefined;
  for (const key of path) found = found?.[key] as Table | undefined;
  return found as Value;
}

function list(table: Table, path: Path): Table[] {
  const found = at(table, path) as unknown;
  return Array.isArray(found) ? (found as Table[]) : [];
}

/** Sets a value, or takes it away where it is null, with a table that then holds nothing. */
function put(table: Table, path: Path, value: string | number | null): void {
  const [key, ...rest] = path as [string | number, ...Path];
  if (rest.length > 0) {
    put((table[key] ??= {}) as Table, rest, value);
    if (Object.keys(table[key] as Table).length === 0) delete table[key];
  } else if (value === null) delete table[key];
  else table[key] = value;
}
