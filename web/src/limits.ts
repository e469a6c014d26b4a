/**
 * What the page takes, so that no link, text or file freezes it or exhausts its memory. The engine counts what a scenario
 * needs before it builds anything; what is above `MOST` is refused, and above `ASK` the reader is asked first.
 */

import type { Needs } from "./engine/index.ts";
import * as format from "./format.ts";

/** The most that is shown. */
export const MOST = {
  /** Characters of a scenario's text. Shipped ones have 1,300 at most, and a run's scenario with all defaults 20,000. */
  text: 1_000_000,
  /** Lines of it, since a text area lays out all of them. */
  lines: 20_000,
  /** Characters of all files that a page's scenarios name, as text or in base64. */
  files: 48_000_000,
  /** Links of a network that is drawn: a fat tree of k = 32 has 24,576. */
  links: 30_000,
  /** Traffic entries. */
  entries: 1_000,
  /** Finished flows of a side that are listed; later ones are only counted. */
  finished: 100_000,
} as const;

/** What is simulated without a question. */
export const ASK = {
  /** Bytes of memory, of all sides. The largest shipped scenario takes 40 MB. */
  bytes: 250e6,
  /** Links of one side: a fat tree of k = 16 has 3,072. */
  links: 4_000,
  /** Flows of one side. */
  flows: 60_000,
  /** Seconds of processor time up to the instant at which the page opens. */
  seconds: 60,
} as const;

/** What the page simulates ahead, out of sight, to find the end of a run. */
export const SCOUT = {
  /** Bytes of memory of a side. */
  bytes: 100e6,
  /** Seconds of processor time of a side. */
  seconds: 20,
} as const;

/** Bytes that the page keeps for each link that it draws, and for each flow that it lists, as measured in Chromium. */
const DRAWN_BYTES = 12_000;
const LISTED_BYTES = 1_000;
/** The times that the engine in a page takes over the native one. */
export const SLOWER = 2;

/** Says why a text is not taken; null if it is. */
export function textProblem(text: string): string | null {
  if (text.length > MOST.text) {
    return `the scenario has ${format.count(text.length)} characters; this page takes at most ${format.count(MOST.text)}`;
  }
  const lines = linesOf(text);
  if (lines <= MOST.lines) return null;
  return `the scenario has ${format.count(lines)} lines; this page takes at most ${format.count(MOST.lines)}`;
}

/** The number of lines of a text. */
export function linesOf(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** Says why the files of a scene are not taken; null if they are. */
export function filesProblem(files: Record<string, string | { base64: string }>): string | null {
  const sizes = Object.values(files).map((file) => (typeof file === "string" ? file : file.base64).length);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (all <= MOST.files) return null;
  return `the files of this scenario have ${format.bytes(all)}; this page takes at most ${format.bytes(MOST.files)}`;
}

/** Says why a scenario is not taken that the engine would run; null if it is. */
export function needsProblem(needs: Needs): string | null {
  if (needs.entries <= MOST.entries) return null;
  return `traffic: these are ${format.count(needs.entries)} entries; this page takes at most ${format.count(MOST.entries)}`;
}

/** The memory in bytes that a side takes, in the engine and in the page. */
function bytesOf({ bytes, links, flows }: Needs): number {
  return bytes + links * DRAWN_BYTES + Math.min(flows, MOST.finished) * LISTED_BYTES;
}

/** The question to ask before scenarios are simulated that need much; null where there is nothing to ask. `now` in ps. */
export function question(sides: readonly Needs[], now: number): string | null {
  const bytes = sides.reduce((sum, needs) => sum + bytesOf(needs), 0);
  const links = Math.max(0, ...sides.map((needs) => needs.links));
  const flows = Math.max(0, ...sides.map((needs) => needs.flows));
  const hosts = Math.max(0, ...sides.map((needs) => needs.hosts));
  const way = ({ cpu_s, simulated_s }: Needs) => SLOWER * cpu_s * Math.min(1, now / 1e12 / Math.max(simulated_s, 1e-12));
  const seconds = Math.max(0, ...sides.map(way));
  if (bytes <= ASK.bytes && links <= ASK.links && flows <= ASK.flows && seconds <= ASK.seconds) return null;
  const whole = Math.max(...sides.map(({ cpu_s }) => SLOWER * cpu_s));
  const size = `${format.count(hosts)} hosts, ${format.count(links)} links and ${format.count(flows)} flows`;
  const time = (s: number) => format.duration(Number((s * 1e12).toPrecision(2)));
  const until = seconds > 1 ? `${time(seconds)} of processor time to get to the time of the link` : `${time(whole)} of processor time to its end`;
  return `This scenario has ${size}. It needs about ${format.bytes(Number(bytes.toPrecision(2)))} of memory and ${until}.`;
}
