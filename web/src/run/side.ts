/** One of the two simulations: its run in the engine, its last frame, rates, series and flows that finished. */

import {
  FRAME_LEFT_OUT,
  type Engine,
  type Ended,
  type Finished,
  type FinishedFlow,
  type Frame,
  type Layout,
  type Progress,
  type Result,
  type ScenarioRequest,
} from "../engine/index.ts";
import * as format from "../format.ts";
import { MOST } from "../limits.ts";
import { History } from "./history.ts";
import { Rates } from "./rates.ts";

/** Networks with more hosts show rates of links in place of packets, which would be wallpaper. */
const MANY_HOSTS = 72;

/** True if the rates of links are drawn in place of packets. */
export function hasManyHosts(layout: Layout): boolean {
  return layout.nodes.filter((node) => node.kind === "host").length > MANY_HOSTS;
}

/** The run as the engine has it, which may be ahead of what is shown. */
interface Ahead {
  readonly progress: Progress;
  readonly frame: Frame;
  /** Where the run has begun anew: the time in ps up to which series stay. */
  readonly keep?: number;
}

/** What a side simulates: the arguments of the protocol's "open", but for the run's number. */
export type Order = Omit<ScenarioRequest, "run">;

export class Side {
  readonly engine: Engine;
  readonly run: number;
  readonly order: Order;
  readonly layout: Layout;
  /** What is shown: the frame and the progress of one instant. */
  frame: Frame;
  progress: Progress;
  /** The time in ps at which the run ends, once somebody has seen it; it is not forgotten when the run begins anew. */
  end: number | null = null;
  rates: Rates;
  readonly history: History;
  /** Flows that have finished, in the order of their ends. */
  finished: FinishedFlow[] = [];
  /** The books and the hash, once the run has ended. */
  result: Result | null = null;
  /** True if rates of links are drawn: there are many hosts, or a frame had to leave out packets. */
  isLarge: boolean;
  readonly #hostPorts: readonly number[];
  #next = 0;
  #ahead: Ahead | null = null;

  private constructor(engine: Engine, run: number, order: Order, layout: Layout, frame: Frame) {
    this.engine = engine;
    this.run = run;
    this.order = order;
    this.layout = layout;
    this.frame = frame;
    this.rates = new Rates(layout.ports.length);
    this.history = new History(layout.ports.length);
    this.progress = Side.#begun();
    this.isLarge = hasManyHosts(layout);
    this.#hostPorts = layout.ports.filter((port) => layout.nodes[port.from]!.kind === "host").map((port) => port.id);
  }

  static #begun(): Progress {
    return { now_ps: 0, ended: null, events: 0, link_transmissions: 0, cnps: 0, flows_started: 0, flows_completed: 0 };
  }

  /** Opens a run; the engine's refusal of the scenario is thrown. */
  static async open(engine: Engine, run: number, order: Order): Promise<Side> {
    const layout = await engine.call<Layout>({ op: "open", run, ...order });
    return new Side(engine, run, order, layout, await engine.frame(run));
  }

  get ended(): Ended | null {
    return this.progress.ended;
  }

  /** The time in ps up to which the engine has simulated the run. */
  get simulated(): number {
    return this.#latest.now_ps;
  }

  get #latest(): Progress {
    return this.#ahead?.progress ?? this.progress;
  }

  /** True if the engine has nothing left to do up to an instant. */
  isAt(instant: number): boolean {
    return this.#latest.ended !== null || (this.simulated >= instant && !this.#isEnd(instant));
  }

  /** True if the run is known to end by an instant. The engine notices an end only when it looks for later events. */
  #isEnd(instant: number): boolean {
    return this.end !== null && instant >= this.end;
  }

  /** Remarks that stand below the heading: the scenario's warnings, and why the run ended before its time. */
  get remarks(): readonly string[] {
    const { warnings } = this.layout;
    const { livelock, flow_control } = this.result?.summary ?? {};
    if (this.ended === "livelocked") {
      const what = livelock ? `: ${livelock.what}` : "";
      return [...warnings, `The run ended at ${format.duration(this.progress.now_ps)}, since events followed each other without end at this instant${what}.`];
    }
    const circle = flow_control?.circle ?? [];
    if (this.ended !== "deadlocked" || circle.length === 0) return warnings;
    return [...warnings, `The run ended at ${format.duration(this.progress.now_ps)} in a deadlock: each of these ports waits for the next, ${circle.join(", ")}.`];
  }

  /** Lets the engine begin anew at time 0. What is shown stays until `show`, and then series up to `keep`. */
  async restart(keep: number): Promise<void> {
    await this.engine.call<Layout>({ op: "open", run: this.run, ...this.order });
    this.#ahead = { progress: Side.#begun(), frame: await this.engine.frame(this.run), keep };
  }

  /** Lets the engine go on until an instant, or by at most so many events. What is shown stays until `show`. */
  async advance(limit: { until_ps?: number; events?: number }, packets = true): Promise<void> {
    if (this.#latest.ended !== null) return;
    const { until_ps = Number.POSITIVE_INFINITY, events } = limit;
    const until = Number.isFinite(until_ps) && !this.#isEnd(until_ps) ? { until_ps } : {};
    const shown = packets && !this.isLarge;
    // Both requests are under way at once, and the worker answers them in order.
    const [progress, frame] = await Promise.all([
      this.engine.call<Progress>({ op: "advance", run: this.run, ...until, ...(events === undefined ? {} : { events }) }),
      this.engine.frame(this.run, { packets: shown, queued: shown }),
    ]);
    this.#ahead = { ...this.#ahead, progress, frame };
    if (progress.ended !== null) this.end = progress.now_ps;
  }

  /** Shows the instant that the engine has reached. */
  show(): void {
    if (this.#ahead === null) return;
    const { progress, frame, keep } = this.#ahead;
    this.#ahead = null;
    if (keep !== undefined) this.#forget(keep);
    this.progress = progress;
    this.#take(frame);
  }

  /** Forgets what was counted, and series after `keep`, but not the time of the end. */
  #forget(keep: number): void {
    this.rates = new Rates(this.layout.ports.length);
    this.history.cut(keep);
    this.finished = [];
    this.#next = 0;
    this.result = null;
  }

  /** Takes a frame of the present instant. */
  async look(): Promise<void> {
    const shown = !this.isLarge;
    this.#take(await this.engine.frame(this.run, { packets: shown, queued: shown }));
  }

  #take(frame: Frame): void {
    this.frame = frame;
    this.isLarge ||= (frame.flags & FRAME_LEFT_OUT) !== 0;
    this.rates.update(frame);
    this.history.add(frame, this.rates);
  }

  /** Fetches flows that finished since the last call, and the result if the run has ended. */
  async collect(): Promise<void> {
    while (this.progress.flows_completed > this.finished.length && this.finished.length < MOST.finished) {
      const { rows, next } = await this.engine.call<Finished>({ op: "finished", run: this.run, from: this.#next });
      for (const row of rows) this.finished.push(row);
      this.#next = next;
      if (rows.length === 0) break;
    }
    if (this.ended !== null && this.result === null) {
      this.result = await this.engine.call<Result>({ op: "result", run: this.run });
    }
  }

  /** The finished flows that count in averages and percentiles: those that start in the window of measurement, if one is set. */
  get measured(): readonly FinishedFlow[] {
    const window = this.result?.summary.measure;
    if (!window) return this.finished;
    return this.finished.filter(({ start_ps }) => start_ps >= window.from_ps && start_ps <= window.until_ps);
  }

  /** Sums of the counters of all ports. */
  counters(): Counters {
    const { marks, trims, drops, creditDrops, pauses, sentCredits, queueBytes } = this.frame.ports;
    return {
      marks: sum(marks),
      trims: sum(trims),
      drops: sum(drops),
      creditDrops: sum(creditDrops),
      pauses: sum(pauses),
      cnps: this.progress.cnps,
      credits: this.#hostPorts.reduce((total, port) => total + sentCredits[port]!, 0),
      queued: sum(queueBytes),
    };
  }
}

/** Totals over all ports since the start. Credits are those that hosts sent, each once; `queued` is of this instant. */
export interface Counters {
  readonly marks: number;
  readonly trims: number;
  readonly drops: number;
  readonly creditDrops: number;
  readonly pauses: number;
  readonly cnps: number;
  readonly credits: number;
  readonly queued: number;
}

function sum(column: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < column.length; index++) total += column[index]!;
  return total;
}
