/** What comes before a run: a text, its files and its needs are compared with what the page takes. */

import type { Engine, Needs } from "../engine/index.ts";
import { filesProblem, MOST, needsProblem, textProblem } from "../limits.ts";
import type { Scene } from "../gallery.ts";
import type { View } from "../state.ts";
import type { Order } from "./side.ts";

/** What a side of a scene simulates in a view, under the transport that is chosen for it. */
export function orderOf(scene: Scene, view: Pick<View, "text" | "seed">, index: number, choice: string): Order {
  const side = scene.sides[index] ?? scene.sides[0]!;
  return {
    name: scene.name,
    text: view.text ?? side.text,
    transport: choice === "own" ? null : choice,
    ...(view.seed === null ? {} : { seed: view.seed }),
    set: side.set,
    links: MOST.links,
  };
}

/** Hands the files of a scene to the engine. It throws a line on files that are too large. */
export async function handOver(engine: Engine, files: Scene["files"]): Promise<void> {
  const problem = filesProblem(files);
  if (problem !== null) throw new Error(problem);
  if (Object.keys(files).length > 0) await engine.call({ op: "files", files });
}

/** Asks the engine what a run will take. It throws a line on what the page or the engine does not take. */
export async function needsOf(engine: Engine, run: number, order: Order): Promise<Needs> {
  const problem = textProblem(order.text);
  if (problem !== null) throw new Error(problem);
  const needs = await engine.call<Needs>({ op: "estimate", run, ...order });
  const tooMuch = needsProblem(needs);
  if (tooMuch !== null) throw new Error(tooMuch);
  return needs;
}
