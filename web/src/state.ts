/** What the page shows, and its form in the address, so that a link shows the same again. */

import { parseInstant } from "./format.ts";
import type { Scene } from "./gallery.ts";
import { MOST, textProblem } from "./limits.ts";
import { packed, unpacked } from "./unpack.ts";

/** A port or a flow of one side. */
export interface Selection {
  readonly side: "left" | "right";
  readonly what: "port" | "flow";
  readonly id: number;
}

/** The transport of a side: a name, `own` for what the scenario's text says, or `none` for no side at all. */
export type Choice = string;

export interface View {
  /** Name of the scenario in the gallery. */
  scenario: string;
  /** The scenario's text where the reader changed it, else null. */
  text: string | null;
  left: Choice;
  right: Choice;
  /** null: the scenario's own. */
  seed: number | null;
  /** The instant, in ps; infinite for the end of the run. */
  now: number;
  /** Simulated us a second. */
  speed: number;
  selection: Selection | null;
  lesson: string | null;
}

/** The limits of the speed, in simulated us a second. */
export const SPEEDS = { least: 0.1, most: 1e5 } as const;

/** Speeds, in simulated us a second, with which small and large networks begin. */
export const SPEED = { small: 20, large: 1000 } as const;

/** The view with which a scene begins. */
export function beginningOf(scene: Scene): View {
  const choice = (index: number) => (scene.sides[index] ? (scene.sides[index].transport ?? "own") : "none");
  return { scenario: scene.name, text: null, left: choice(0), right: choice(1), seed: null, now: 0, speed: SPEED.small, selection: null, lesson: null };
}

/** Names of transports, and of what else a side may show. */
const NAME = /^[\w-]{1,64}$/;

/** Writes a view as the fragment of an address. */
export async function toHash(view: View): Promise<string> {
  const fields = new URLSearchParams();
  if (view.lesson !== null) fields.set("lesson", view.lesson);
  fields.set("scenario", view.scenario);
  fields.set("left", view.left);
  fields.set("right", view.right);
  if (view.seed !== null) fields.set("seed", String(view.seed));
  if (view.now > 0) fields.set("t", timeText(view.now));
  fields.set("speed", String(Number(view.speed.toPrecision(3))));
  if (view.selection) fields.set("select", `${view.selection.side}.${view.selection.what}.${view.selection.id}`);
  if (view.text !== null) fields.set("text", await packed(view.text));
  return `#${fields}`;
}

/** What a fragment says of a view, and why its scenario is not shown, if it is not. */
export interface Wanted {
  readonly view: Partial<View>;
  readonly problem: string | null;
}

/** Reads what a fragment says of a view; what it does not say, or says wrongly, is left out. */
export async function fromHash(hash: string): Promise<Wanted> {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const view: Partial<View> = {};
  const scenario = fields.get("scenario");
  if (scenario) view.scenario = scenario;
  for (const side of ["left", "right"] as const) {
    const choice = fields.get(side);
    if (choice && NAME.test(choice)) view[side] = choice;
  }
  const lesson = fields.get("lesson");
  if (lesson) view.lesson = lesson;
  const seed = Number(fields.get("seed") ?? Number.NaN);
  if (Number.isSafeInteger(seed) && seed >= 0) view.seed = seed;
  const now = parseInstant(fields.get("t") ?? "");
  if (now !== null) view.now = now;
  const speed = Number(fields.get("speed") ?? Number.NaN);
  if (speed > 0) view.speed = Math.min(SPEEDS.most, Math.max(SPEEDS.least, speed));
  const found = /^(left|right)\.(port|flow)\.(\d+)$/.exec(fields.get("select") ?? "");
  if (found) {
    view.selection = { side: found[1] as "left" | "right", what: found[2] as "port" | "flow", id: Number(found[3]) };
  }
  const code = fields.get("text");
  if (!code) return { view, problem: null };
  try {
    const text = await unpacked(code, MOST.text);
    const problem = text === null ? `it unpacks to more than ${MOST.text / 1e6} MB, the most that this page takes` : textProblem(text);
    if (problem === null) view.text = text;
    return { view, problem };
  } catch {
    return { view, problem: "it was cut off or changed on its way" };
  }
}

/** An instant without a loss, in us if it needs at most three digits behind the point. */
function timeText(ps: number): string {
  if (!Number.isFinite(ps)) return "end";
  return ps % 1e3 === 0 ? `${ps / 1e6}us` : `${ps}ps`;
}
