/** Rates of links and flows, smoothed over 50 us of simulated time. */

import { NO_FLOW, type Frame } from "../engine/index.ts";

/** The time constant of the smoothing: an exponential average of it is as old, on the mean, as one over a window of 50 us. */
export const SMOOTHING_PS = 25e6;

/** Exponential averages of the rates at which counters grow. */
class Smoothed {
  readonly rate: Float64Array;
  readonly #before: Float64Array;

  constructor(count: number) {
    this.rate = new Float64Array(count);
    this.#before = new Float64Array(count);
  }

  /** Takes totals `elapsed` ps after those before; rates are per second. */
  update(totals: ArrayLike<number>, elapsed: number, weight: number): void {
    for (let index = 0; index < this.rate.length; index++) {
      const now = ((totals[index]! - this.#before[index]!) * 1e12) / elapsed;
      this.rate[index]! += weight * (now - this.rate[index]!);
      this.#before[index] = totals[index]!;
    }
  }
}

/** A flow's rate of delivery. */
interface FlowRate {
  delivered: number;
  bps: number;
}

/** The rates of a run. */
export class Rates {
  readonly #sent: Smoothed;
  readonly #credits: Smoothed;
  readonly #flows = new Map<number, FlowRate>();
  #now = 0;

  constructor(ports: number) {
    this.#sent = new Smoothed(ports);
    this.#credits = new Smoothed(ports);
  }

  /** Takes a later frame; one of the same instant changes nothing. */
  update(frame: Frame): void {
    const elapsed = frame.nowPs - this.#now;
    if (elapsed <= 0) return;
    const weight = 1 - Math.exp(-elapsed / SMOOTHING_PS);
    this.#sent.update(frame.ports.sentBytes, elapsed, weight);
    this.#credits.update(frame.ports.sentCredits, elapsed, weight);
    this.#now = frame.nowPs;
    const { flow, deliveredBytes, count } = frame.flows;
    const active = new Set<number>();
    for (let index = 0; index < count; index++) {
      const id = flow[index]!;
      if (id === NO_FLOW) continue;
      const delivered = deliveredBytes[index]!;
      active.add(id);
      const known = this.#flows.get(id) ?? { delivered: 0, bps: 0 };
      known.bps += weight * (((delivered - known.delivered) * 8e12) / elapsed - known.bps);
      known.delivered = delivered;
      this.#flows.set(id, known);
    }
    for (const id of this.#flows.keys()) if (!active.has(id)) this.#flows.delete(id);
  }

  /** The rate of a port on the wire, in bit/s. */
  port(id: number): number {
    return this.#sent.rate[id]! * 8;
  }

  /** The credits that a port sends a second. */
  credits(id: number): number {
    return this.#credits.rate[id]!;
  }

  /** The rate at which an active flow's bytes are delivered, in bit/s; 0 for a flow that is over. */
  flow(id: number): number {
    return this.#flows.get(id)?.bps ?? 0;
  }

  /** The active flows with the highest rates, the fastest first. */
  top(count: number): { flow: number; bps: number }[] {
    const all = [...this.#flows].map(([flow, { bps }]) => ({ flow, bps }));
    all.sort((a, b) => b.bps - a.bps || a.flow - b.flow);
    return all.slice(0, count).filter(({ bps }) => bps > 0);
  }
}
