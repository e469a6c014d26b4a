/**
 * The scout finds the ends of runs before the reader gets there, so that the line of time has a scale. It simulates each side
 * once more beside the page, in short pieces, and keeps nothing but the time of the end. Runs that take much are left alone.
 */

import type { Engine, Needs, Progress } from "../engine/index.ts";
import { SCOUT, SLOWER } from "../limits.ts";
import type { Side } from "./side.ts";

/** The run of the scout in the engine; those of the page are 0 to 2. */
const RUN = 3;
/** The events of a piece, which take about 10 ms. */
const EVENTS = 1 << 15;
/** The time in ms until a scout that has to wait looks again. */
const WAIT_MS = 100;

/** What the page leaves to the scout: all of the processor, a part while it plays, or nothing while it needs the engine. */
export type Leisure = "all" | "some" | "none";

/** True if the end of such a run is looked for. */
export function isWithin({ bytes, cpu_s }: Pick<Needs, "bytes" | "cpu_s">): boolean {
  return bytes <= SCOUT.bytes && SLOWER * cpu_s <= SCOUT.seconds;
}

export class Scout {
  readonly #engine: Engine;
  readonly #leisure: () => Leisure;
  readonly #found: () => void;
  /** The number of the last search; searches before it end. */
  #turn = 0;

  /** `found` is told of each end. */
  constructor(engine: Engine, leisure: () => Leisure, found: () => void) {
    this.#engine = engine;
    this.#leisure = leisure;
    this.#found = found;
  }

  /** Looks for the ends of sides in turn, and no longer for those of a search before. `needs` are the estimates of the sides. */
  async find(sides: readonly (Side | null)[], needs: readonly (Needs | null)[]): Promise<void> {
    const turn = ++this.#turn;
    for (const [index, side] of sides.entries()) {
      const need = needs[index];
      if (!side || !need || !isWithin(need)) continue;
      try {
        await this.#follow(side, () => turn === this.#turn && side.end === null);
      } catch {
        // A run that fails here fails on the page too, which tells the reader. Nothing but the scale of the line is lost.
      }
      if (turn !== this.#turn) return;
    }
    await this.#engine.call({ op: "close", run: RUN }).catch(() => {});
  }

  /** Looks for nothing any longer. */
  stop(): void {
    void this.find([], []);
  }

  /** Simulates the run of a side while that is wanted, up to its end or until the budget is used up. */
  async #follow(side: Side, isWanted: () => boolean): Promise<void> {
    let used = 0;
    let isOpen = false;
    while (isWanted() && used < 1000 * SCOUT.seconds) {
      const leisure = this.#leisure();
      if (leisure === "none") {
        await sleep(WAIT_MS);
        continue;
      }
      const began = performance.now();
      if (!isOpen) await this.#engine.call({ op: "open", run: RUN, ...side.order });
      isOpen = true;
      const { ended, now_ps } = await this.#engine.call<Progress>({ op: "advance", run: RUN, events: EVENTS });
      const took = performance.now() - began;
      used += took;
      if (ended !== null && isWanted()) {
        side.end = now_ps;
        this.#found();
      }
      if (leisure === "some") await sleep(4 * took);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
