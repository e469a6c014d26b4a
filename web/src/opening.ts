/** The opening: the scene with which the page begins, and the captions that explain it while it runs. */

import { parseTime } from "./format.ts";
import data from "./opening.json";

/** A sentence, shown from an instant on until the next one begins. */
export interface Caption {
  /** The simulated instant in ps, and as people write it. */
  readonly from: number;
  readonly written: string;
  /** Simulated us a second while it is shown. */
  readonly speed: number;
  readonly text: string;
}

/** The scene of the opening: its scenario and transports, and the port whose series is shown, by name. */
export const OPENING = { scenario: data.scenario, left: data.left, right: data.right, watch: data.watch } as const;

/** The captions in their order. A test compares what they say with the simulation. */
export const CAPTIONS: readonly Caption[] = data.captions.map(({ from, speed, text }) => ({
  from: timeOf(from),
  written: from,
  speed: timeOf(speed.replace(/\/s$/, "")) / 1e6,
  text,
}));

/** The number of the caption that is shown at an instant. */
export function captionAt(now: number, captions: readonly Caption[] = CAPTIONS): number {
  let found = 0;
  captions.forEach((caption, index) => {
    if (caption.from <= now) found = index;
  });
  return found;
}

/** True if the reader has asked the system for little motion. The opening then stands still, with all captions in a list. */
export function prefersStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function timeOf(text: string): number {
  const ps = parseTime(text);
  if (ps === null) throw new Error(`opening.json: "${text}" is no time`);
  return ps;
}
