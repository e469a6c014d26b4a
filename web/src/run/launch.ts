/** Opens both sides of a view: it asks the engine what they need, and opens them unless the reader is to be asked first. */

import type { Engine, Needs } from "../engine/index.ts";
import type { Scene } from "../gallery.ts";
import { question } from "../limits.ts";
import type { StartSide } from "../start.ts";
import type { View } from "../state.ts";
import { handOver, needsOf, orderOf } from "./admission.ts";
import { Side, type Order } from "./side.ts";

/** What came of it. Lists have an entry a side, which is null where there is none or the engine refused it. */
export interface Launched {
  readonly sides: (Side | null)[];
  readonly needs: readonly (Needs | null)[];
  /** What to ask the reader; then no side is open. */
  readonly question: string | null;
  /** The first refusal. */
  readonly error: unknown;
}

/** Opens both sides. `refused` is told why one is not opened, and `isOld` ends it: the answer is null then. */
export async function launch(
  engine: Engine,
  scene: Scene,
  view: View,
  agreed: boolean,
  refused: (index: number, reason: unknown) => void,
  isOld: () => boolean,
): Promise<Launched | null> {
  let error: unknown = null;
  const orders = choicesOf(view).map((choice, index) => (choice === "none" ? null : orderOf(scene, view, index, choice)));
  const tried = <T>(work: (order: Order, index: number) => Promise<T>) =>
    Promise.all(
      orders.map((order, index) =>
        order &&
        work(order, index).catch((reason: unknown) => {
          error ??= reason;
          orders[index] = null;
          if (!isOld()) refused(index, reason);
          return null;
        }),
      ),
    );
  const handedOver = handOver(engine, scene.files);
  const needs = await tried((order, index) => handedOver.then(() => needsOf(engine, index, order)));
  if (isOld()) return null;
  const asked = agreed ? null : question(needs.filter((one) => one !== null), view.now);
  const sides = asked === null ? await tried((order, index) => Side.open(engine, index, order)) : [null, null];
  return isOld() ? null : { sides, needs, question: asked, error };
}

/** What the reader has chosen for the left and the right side. */
export function choicesOf(view: View): readonly string[] {
  return [view.left, view.right];
}

/** The result that a side should have, if it is simulated as it was then. */
export function expectedOf(scene: Scene, view: View, index: number): StartSide["expected"] {
  const side = scene.sides[index];
  const same = side && view.text === null && view.seed === null && choicesOf(view)[index] === (side.transport ?? "own");
  return same ? side.expected : null;
}
