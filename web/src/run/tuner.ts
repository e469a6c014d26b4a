/**
 * Runs both sides again, up to the instant that is shown, each time a slider moves. The last value counts: those that come
 * before it, while a run is under way, are passed over.
 */

import type { Player } from "./player.ts";

export class Tuner {
  readonly #player: Player;
  readonly #run: (text: string, instant: number) => Promise<boolean>;
  /** The text that waits to be run. */
  #wanted: string | null = null;
  #isBusy = false;

  /** `run` opens both sides with a text, brings them to an instant in ps, and says whether they are there. */
  constructor(player: Player, run: (text: string, instant: number) => Promise<boolean>) {
    this.#player = player;
    this.#run = run;
  }

  /** The text that waits to be run; null where none does. */
  get wanted(): string | null {
    return this.#wanted;
  }

  /** Runs a text once the run that is under way has been cancelled. */
  async change(text: string): Promise<void> {
    this.#wanted = text;
    if (this.#isBusy) return this.#player.cancel();
    this.#isBusy = true;
    const { seeking, playing, now } = this.#player;
    const instant = seeking?.target ?? now;
    let isThere = false;
    try {
      while (this.#wanted !== null) {
        const next: string = this.#wanted;
        this.#wanted = null;
        isThere = await this.#run(next, instant);
      }
    } finally {
      this.#isBusy = false;
    }
    if (playing && isThere) this.#player.play();
  }
}
