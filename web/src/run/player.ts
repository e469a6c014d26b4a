/**
 * The playback: brings all sides to the same instant, at a speed, by steps, or to a given time. Only instants are shown at
 * which all sides stand. One request a side is under way at a time. Where the engine is slower than asked for, time goes
 * slower and the page stays quick.
 */

import { niceCeiling } from "../format.ts";
import type { Side } from "./side.ts";

/** Steps are made so short that the engine answers within this time. */
const PATIENCE_MS = 24;
/** The most events of one answer, so that a command that comes is heard soon. */
const EVENTS = 1 << 18;
/** A long way to another time is made of at least so many pieces, so that series have points on the way. */
const PIECES = 40;
/** Pieces get longer if they take less than the first time in ms, and shorter if they take more than the second. */
const PIECE_MS = [50, 200] as const;
/** The simulated time of one step. */
export const STEP_PS = 1e6;

/** What the player tells the page. */
export interface Listener {
  /** Another instant is there to be drawn. */
  changed(): void;
  /** A side failed; its run is gone. */
  failed(error: unknown): void;
}

/** A way to another time that is under way. */
export interface Seek {
  /** The time in ps; infinite for the end of the run. */
  readonly target: number;
  /** The time in ps at which it began, or 0 if the run is simulated again. */
  readonly start: number;
  /** The time on the clock of `performance.now` at which it began. */
  readonly since: number;
}

/** What the time of an answer depends on: the length of the step, or a page and a machine that have much else to do. */
class Cost {
  #steps = 0;
  #times = 0;
  #squares = 0;
  #products = 0;

  /** Takes a step and its time in ms; answers with the share of the time that goes with the length of steps, 0 to 1. */
  share(step: number, took: number): number {
    const blend = (mean: number, value: number) => (mean === 0 ? value : 0.85 * mean + 0.15 * value);
    this.#steps = blend(this.#steps, step);
    this.#times = blend(this.#times, took);
    this.#squares = blend(this.#squares, step * step);
    this.#products = blend(this.#products, step * took);
    const variance = this.#squares - this.#steps ** 2;
    // Steps of one length tell nothing; shorter ones are tried then.
    if (variance < 0.01 * this.#steps ** 2) return 1;
    const slope = (this.#products - this.#steps * this.#times) / variance;
    return Math.min(1, Math.max(0, (slope * step) / took));
  }
}

export class Player {
  /** The instant in ps that is shown, at which all sides stand. */
  now = 0;
  /** Simulated us a second that are asked for. */
  speed = 20;
  /** Simulated us a second that the engine reaches, while it plays; null if nothing holds it up. */
  reached: number | null = null;
  #sides: readonly Side[] = [];
  /** The estimate in ps of how long the run goes on. */
  #expected = 0;
  #seek: Seek | null = null;
  #playing = false;
  /** Instants at which the run stood still, to which it can go back. */
  #stops: number[] = [];
  /** The number of the last command; work for earlier ones ends early. */
  #turn = 0;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  #wall = 0;
  #longest = Number.POSITIVE_INFINITY;
  #cost = new Cost();
  readonly #listener: Listener;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  get playing(): boolean {
    return this.#playing;
  }

  get ended(): boolean {
    return this.#sides.length > 0 && this.#sides.every((side) => side.ended !== null);
  }

  /** True while requests for a command are under way. */
  get working(): boolean {
    return this.#isWorking;
  }

  /** The way to another time that is under way; null if there is none. */
  get seeking(): Seek | null {
    return this.#seek;
  }

  /** The share of that way that lies behind, 0 to 1. It is a guess where the way goes to an end that is not known. */
  get share(): number {
    if (this.#seek === null) return 0;
    const { start, target } = this.#seek;
    const way = Math.min(target, this.horizon) - start;
    return way > 0 ? Math.min(1, Math.max(0, (this.now - start) / way)) : 1;
  }

  /** The time in ps at which the last side ends; null where that is not known. */
  get end(): number | null {
    const ends = this.#sides.map((side) => side.end ?? side.layout.stop_ps);
    return ends.length === 0 || ends.includes(null) ? null : Math.max(...(ends as number[]));
  }

  /** The time up to which the line of time goes: the end of the run or, while that is not known, more than has been reached. */
  get horizon(): number {
    if (this.#sides.length === 0) return 0;
    const known = this.#sides.map((side) => side.end ?? side.layout.stop_ps ?? 0);
    return this.end ?? niceCeiling(Math.max(this.#expected, 1.1 * this.now, ...known));
  }

  /** Takes sides that begin at 0, and go on for about `expected` ps, in place of those before. */
  take(sides: readonly Side[], expected = 0): void {
    this.#turn += 1;
    this.#sides = sides;
    this.#expected = expected;
    this.#seek = null;
    this.#playing = false;
    this.#stops = [];
    this.#longest = Number.POSITIVE_INFINITY;
    this.#cost = new Cost();
    this.now = 0;
    this.reached = null;
  }

  play(): void {
    if (this.#playing || this.ended || this.#sides.length === 0) return;
    this.#mark();
    this.#wall = performance.now();
    this.#playing = true;
    this.#listener.changed();
  }

  pause(): void {
    this.#playing = false;
    this.reached = null;
    this.#turn += 1;
    this.#listener.changed();
  }

  toggle(): void {
    if (this.#playing) this.pause();
    else this.play();
  }

  /** Goes on by one step, or to the next event of the first side that has not ended. */
  step(what: "time" | "event"): Promise<void> {
    this.pause();
    this.#mark();
    return this.#command(async (alive) => {
      const first = this.#sides.find((side) => side.ended === null);
      if (!first) return;
      if (what === "event") await first.advance({ events: 1 });
      await this.#advance(what === "event" ? first.simulated : this.now + STEP_PS, alive);
    });
  }

  /** Goes back to where the run stood still before. */
  back(): Promise<void> {
    while (this.#stops.length > 0 && this.#stops[this.#stops.length - 1]! >= this.now) this.#stops.pop();
    return this.seek(this.#stops.pop() ?? 0, false);
  }

  /** Goes back to the start. */
  restart(): Promise<void> {
    return this.seek(0);
  }

  /** Goes to an instant, or to the end if that comes first; if it lies behind, everything is simulated again. */
  seek(target: number, mark = true): Promise<void> {
    this.pause();
    if (mark) this.#mark();
    return this.#command(async (alive) => {
      const sides = this.#sides;
      if (sides.length === 0) return;
      const isBehind = target < this.now;
      const seek = (this.#seek = { target, start: isBehind ? 0 : this.now, since: performance.now() });
      try {
        if (isBehind) {
          await Promise.all(sides.map((side) => side.restart(target)));
          for (const side of sides) side.show();
          this.now = 0;
        }
        if (!(await this.#travel(target, alive)) || sides !== this.#sides) return;
        // Pieces on the way come without packets.
        await Promise.all(sides.map((side) => side.look()));
      } finally {
        if (this.#seek === seek) this.#seek = null;
        this.#listener.changed();
      }
    });
  }

  /** Goes a long way in pieces, each of which ends at an instant that is shown. Answers whether all sides stand together. */
  async #travel(target: number, alive: () => boolean): Promise<boolean> {
    const start = this.now;
    const longest = () => Math.max(STEP_PS, (Math.min(target, this.horizon) - start) / PIECES);
    let piece = longest() / 16;
    let isTogether = true;
    while (alive() && isTogether && !this.#areAt(target)) {
      const began = performance.now();
      isTogether = await this.#advance(Math.min(target, Math.round(this.now + piece)), alive, false);
      const took = performance.now() - began;
      if (took < PIECE_MS[0]) piece = Math.min(2 * piece, longest());
      if (took > PIECE_MS[1]) piece = Math.max(piece / 2, 1);
    }
    return isTogether;
  }

  /** Ends the way to another time: the run stays where it has come to. */
  cancel(): void {
    this.#seek = null;
    this.pause();
  }

  /** Lets sides that stand at their end end there: the time of an end may become known only after it was reached. */
  settle(): void {
    void this.between(async () => {
      if (!this.#playing && !this.#areAt(this.now)) await this.#advance(this.now, () => true);
    });
  }

  /** Goes on by the time that has passed since the last call, if it plays and the engine has answered. */
  tick(wall: number): void {
    if (!this.#playing || this.#isWorking) return;
    const wanted = Math.min(100, Math.max(0, wall - this.#wall)) * this.speed * 1e3;
    this.#wall = wall;
    const step = Math.min(wanted, this.#longest);
    if (step < 1) return;
    void this.#command(async (alive) => {
      const began = performance.now();
      await this.#advance(Math.round(this.now + step), alive);
      this.#pace(step, wanted, performance.now() - began);
      if (this.ended) this.pause();
    });
  }

  /** Learns how long a step may be: shorter if that makes the answer come sooner, and else longer again. */
  #pace(step: number, wanted: number, took: number): void {
    const share = this.#cost.share(step, took);
    if (took > PATIENCE_MS && share > 0.5) this.#longest = Math.max(1, step * Math.max(0.5, PATIENCE_MS / took));
    else if (this.#longest < wanted) this.#longest *= 1.15;
    this.reached = this.#longest < wanted ? step / 1e3 / Math.max(took, 16.7) : null;
  }

  #mark(): void {
    if (this.#stops[this.#stops.length - 1] !== this.now) this.#stops.push(this.now);
  }

  /** True if all sides have come to an instant, or to their ends. */
  #areAt(instant: number): boolean {
    return this.#sides.every((side) => side.isAt(instant));
  }

  /**
   * Brings all sides to an instant and shows it. The engine answers after a number of events, so a command that comes may
   * end this before: then sides that are behind catch up with the one ahead. Answers false if they don't, since time stands
   * still there; what was shown before stays.
   */
  async #advance(target: number, alive: () => boolean, packets = true): Promise<boolean> {
    const sides = this.#sides;
    const ahead = () => Math.max(...sides.map((side) => side.simulated));
    let goal = Math.max(target, ahead());
    const late = () => sides.filter((side) => !side.isAt(goal));
    for (let behind = late(); behind.length > 0; behind = late()) {
      const before = behind.map((side) => side.simulated);
      await Promise.all(behind.map((side) => side.advance({ until_ps: goal, events: EVENTS }, packets)));
      // Others may have come while these were busy.
      if (sides !== this.#sides) return false;
      if (alive()) continue;
      if (behind.every((side, index) => side.simulated === before[index] && !side.isAt(goal))) return false;
      goal = ahead();
    }
    for (const side of sides) side.show();
    // An end is noticed a little later than it was, so the time may go back to it.
    this.now = this.ended ? ahead() : goal;
    this.#listener.changed();
    return true;
  }

  /** Runs a command after what is under way; it is told whether a later one wants it to end. */
  #command(work: (alive: () => boolean) => Promise<void>): Promise<void> {
    const turn = ++this.#turn;
    const alive = () => turn === this.#turn;
    const before = this.#work;
    this.#work = (async () => {
      await before;
      if (!alive()) return;
      this.#isWorking = true;
      try {
        await work(alive);
      } catch (error) {
        this.#playing = false;
        this.#listener.failed(error);
      } finally {
        this.#isWorking = false;
      }
    })();
    return this.#work;
  }

  /** Runs something between commands, such as a look at a port, so that a run is never asked for two things at once. */
  between(work: () => Promise<void>): Promise<void> {
    const before = this.#work;
    this.#work = (async () => {
      await before;
      this.#isWorking = true;
      try {
        await work();
      } catch (error) {
        this.#listener.failed(error);
      } finally {
        this.#isWorking = false;
      }
    })();
    return this.#work;
  }
}
