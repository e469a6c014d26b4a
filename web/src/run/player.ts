/**
 * The playback: brings all sides to the same instant, at a speed, by steps, or to a given time. One request a side is
 * under way at a time. Where the engine is slower than asked for, time goes slower and the page stays quick.
 */

import type { Side } from "./side.ts";

/** Steps are made so short that the engine answers within this time. */
const PATIENCE_MS = 24;
/** Frames that a long way to another time is made of, so that series have points on the way. */
const PIECES = 40;
/** The simulated time of one step. */
export const STEP_PS = 1e6;

/** What the player tells the page. */
export interface Listener {
  /** Another instant is there to be drawn. */
  changed(): void;
  /** How far the way to another time has come, 0 to 1; null when it is over. */
  seeking(share: number | null): void;
  /** A side failed; its run is gone. */
  failed(error: unknown): void;
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
  /** The instant that is shown, in ps. */
  now = 0;
  /** Simulated us a second that are asked for. */
  speed = 20;
  /** Simulated us a second that the engine reaches, while it plays; null if nothing holds it up. */
  reached: number | null = null;
  #sides: readonly Side[] = [];
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

  /** The time up to which the line of time goes: the end of the run as far as it is known. */
  get horizon(): number {
    if (this.ended) return Math.max(this.now, ...this.#sides.map((side) => side.progress.now_ps));
    const stop = Math.max(0, ...this.#sides.map((side) => side.layout.stop_ps ?? 0));
    return Math.max(stop, this.now);
  }

  /** True if the scenario says when the run stops. */
  get hasStop(): boolean {
    return this.#sides.some((side) => side.layout.stop_ps !== null);
  }

  /** Takes sides that begin at 0 in place of those before. */
  take(sides: readonly Side[]): void {
    this.#turn += 1;
    this.#sides = sides;
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
      if (this.ended || this.#sides.length === 0) return;
      const first = this.#sides.find((side) => side.ended === null)!;
      if (what === "event") await first.advance({ events: 1 });
      const target = what === "event" ? first.progress.now_ps : this.now + STEP_PS;
      await this.#advance(target, alive);
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

  /** Goes to an instant; if it lies behind, everything is simulated again. */
  seek(target: number, mark = true): Promise<void> {
    this.pause();
    if (mark) this.#mark();
    return this.#command(async (alive) => {
      if (target < this.now) {
        await Promise.all(this.#sides.map((side) => side.restart(target)));
        this.now = 0;
      }
      if (this.#sides.length === 0) return;
      const start = this.now;
      let piece = Math.max(STEP_PS, (target - start) / PIECES);
      while (this.now < target && alive() && !this.ended) {
        const began = performance.now();
        const next = Math.min(target, Math.round(this.now + piece));
        await this.#advance(next, alive, next === target);
        const took = performance.now() - began;
        // Shorter pieces keep the page quick where much happens; a busy machine would only need more of them.
        if (took > 400) piece = Math.max((target - start) / 1000, piece / 2, 1);
        this.#listener.seeking(target > start ? (this.now - start) / (target - start) : null);
      }
      this.#listener.seeking(null);
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

  /** Goes on to an instant. The engine answers after a number of events, so a command that comes may end this before. */
  async #advance(target: number, alive: () => boolean, packets = true): Promise<void> {
    const sides = this.#sides;
    do {
      await Promise.all(sides.filter((side) => side.progress.now_ps < target).map((side) => side.advance({ until_ps: target }, packets)));
      // Others may have come while these were busy.
      if (sides !== this.#sides) return;
      const times = sides.filter((side) => side.ended === null).map((side) => side.progress.now_ps);
      this.now = times.length > 0 ? Math.min(target, ...times) : Math.max(...sides.map((side) => side.progress.now_ps));
      this.#listener.changed();
    } while (!this.ended && this.now < target && alive());
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
        this.#listener.seeking(null);
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
