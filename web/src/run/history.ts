/** The series of ports and flows that the panel draws: one value a frame, thinned out when there are many. */

import { NO_FLOW, type Frame } from "../engine/index.ts";
import type { Rates } from "./rates.ts";

/** The most points that a series keeps; when it is full, every second one goes. */
const POINTS = 2048;
/** Networks with more ports keep series only of ports that were selected, from then on. */
const PORTS = 400;
/** Of more flows, only those that were selected. */
const FLOWS = 64;

/** Named columns over time. Times are in us, NaN stands for what is not known. */
export class Series<Name extends string> {
  readonly #columns: Record<"time" | Name, number[]>;
  readonly #names: readonly Name[];
  /** Frames that each point stands for, and those since the last point. */
  #stride = 1;
  #skipped = 0;

  constructor(names: readonly Name[]) {
    this.#names = names;
    this.#columns = Object.fromEntries(["time", ...names].map((name) => [name, []])) as never;
  }

  get times(): readonly number[] {
    return this.#columns.time;
  }

  column(name: Name): readonly number[] {
    return this.#columns[name];
  }

  /** Adds a point behind the last one. */
  add(time: number, values: Record<Name, number>): void {
    const times = this.#columns.time as number[];
    if (times.length > 0 && time <= times[times.length - 1]!) return;
    this.#skipped += 1;
    if (this.#skipped < this.#stride) return;
    this.#skipped = 0;
    times.push(time);
    for (const name of this.#names) this.#columns[name].push(values[name]);
    if (times.length >= POINTS) {
      this.#stride *= 2;
      for (const name of ["time", ...this.#names] as const) {
        const column = this.#columns[name] as number[];
        const kept = column.filter((_, index) => index % 2 === 0);
        column.splice(0, column.length, ...kept);
      }
    }
  }

  /** Forgets what came after a time. */
  cut(time: number): void {
    const times = this.#columns.time as number[];
    let length = times.length;
    while (length > 0 && times[length - 1]! > time) length -= 1;
    for (const name of ["time", ...this.#names] as const) (this.#columns[name] as number[]).length = length;
  }
}

export const PORT_SERIES = ["queue", "rate", "credits", "creditQueue"] as const;
export const FLOW_SERIES = ["rate", "window", "pace", "srtt"] as const;
export type PortSeries = Series<(typeof PORT_SERIES)[number]>;
export type FlowSeries = Series<(typeof FLOW_SERIES)[number]>;

/** The series of one run. */
export class History {
  readonly #ports = new Map<number, PortSeries>();
  readonly #flows = new Map<number, FlowSeries>();

  constructor(ports: number) {
    if (ports <= PORTS) for (let id = 0; id < ports; id++) this.port(id);
  }

  /** The series of a port, which begins now if there was none. */
  port(id: number): PortSeries {
    return found(this.#ports, id, () => new Series(PORT_SERIES));
  }

  /** The series of a flow, which begins now if there was none. */
  flow(id: number): FlowSeries {
    return found(this.#flows, id, () => new Series(FLOW_SERIES));
  }

  /** Adds a frame. */
  add(frame: Frame, rates: Rates): void {
    const time = frame.nowPs / 1e6;
    const { queueBytes, creditQueueBytes } = frame.ports;
    for (const [id, series] of this.#ports) {
      series.add(time, {
        queue: queueBytes[id]!,
        rate: rates.port(id),
        credits: rates.credits(id),
        creditQueue: creditQueueBytes[id]!,
      });
    }
    const { flow, windowBytes, rateBps, srttPs, count } = frame.flows;
    for (let index = 0; index < count; index++) {
      const id = flow[index]!;
      if (id === NO_FLOW) continue;
      if (!this.#flows.has(id) && this.#flows.size >= FLOWS) continue;
      this.flow(id).add(time, {
        rate: rates.flow(id),
        window: windowBytes[index]!,
        pace: rateBps[index]!,
        srtt: srttPs[index]! / 1e6,
      });
    }
  }

  /** Forgets what came after an instant, because the run goes back there. */
  cut(nowPs: number): void {
    for (const series of [...this.#ports.values(), ...this.#flows.values()]) series.cut(nowPs / 1e6);
  }
}

function found<V>(map: Map<number, V>, id: number, make: () => V): V {
  let value = map.get(id);
  if (!value) map.set(id, (value = make()));
  return value;
}
