/** The upper layer of the picture: packets on links, queues at ports, credits that wait, drops. */

import { PACKET_MARKED, PACKET_TRIMMED, PORT_PAUSED, type Frame, type Layout } from "../engine/index.ts";
import type { Colors } from "../style/colors.ts";
import type { Geometry } from "./geometry.ts";
import { LOOKS, paint, trace, type Look, type Place } from "./marks.ts";

type Context = CanvasRenderingContext2D;

/** Frames shorter than this many pixels are drawn as one bar without gaps between them. */
const GAP_FROM = 4;
/** How long a drop flashes. */
export const FLASH_MS = 600;
/** The opacity of packets of other flows while a flow is selected. */
const FADED = 0.22;
/** Pixels between credits that wait. */
const COMB = 3;

/** The place of a packet in flight: the first and last bit move at the speed of the link. */
export function placeOf(layout: Layout, shape: Geometry, frame: Frame, index: number, into: Place): Place {
  const { port, startPs, arrivePs } = frame.packets;
  const id = port[index]!;
  const delay = Math.max(1, layout.ports[id]!.delay_ps);
  const since = frame.nowPs - startPs[index]!;
  const serialisation = arrivePs[index]! - startPs[index]! - delay;
  const head = Math.min(1, Math.max(0, since / delay));
  const tail = Math.min(1, Math.max(0, (since - serialisation) / delay));
  const { x0, y0, x1, y1 } = shape.lanes;
  const dx = x1[id]! - x0[id]!;
  const dy = y1[id]! - y0[id]!;
  const length = Math.hypot(dx, dy) || 1;
  into.dx = dx / length;
  into.dy = dy / length;
  into.headX = x0[id]! + dx * head;
  into.headY = y0[id]! + dy * head;
  // A frame that takes less than three pixels is drawn with three.
  const shown = Math.max(Math.min(3, head * length), (head - tail) * length);
  into.tailX = into.headX - into.dx * shown;
  into.tailY = into.headY - into.dy * shown;
  return into;
}

/** The look of a packet. */
export function lookOf(looks: readonly Look[], kind: number, flags: number): Look {
  const look = looks[kind] ?? "control";
  if (look !== "data") return look;
  if ((flags & PACKET_TRIMMED) !== 0) return "trimmed";
  return (flags & PACKET_MARKED) !== 0 ? "marked" : look;
}

/** Draws the packets in flight; those of flows other than the selected one are faint. */
export function drawPackets(
  context: Context,
  shape: Geometry,
  layout: Layout,
  frame: Frame,
  looks: readonly Look[],
  selected: number | null,
  colors: Colors,
): void {
  const { count, kind, flags, flow } = frame.packets;
  const groups = new Map<Look, number[]>();
  for (let index = 0; index < count; index++) {
    const look = lookOf(looks, kind[index]!, flags[index]!);
    const group = groups.get(look);
    if (group) group.push(index);
    else groups.set(look, [index]);
  }
  const at: Place = { headX: 0, headY: 0, tailX: 0, tailY: 0, dx: 0, dy: 0 };
  for (const look of LOOKS) {
    const group = groups.get(look);
    if (!group) continue;
    for (const faded of selected === null ? [false] : [true, false]) {
      context.globalAlpha = faded ? FADED : 1;
      context.beginPath();
      for (const index of group) {
        if (selected !== null && (flow[index] !== selected) !== faded) continue;
        trace(context, look, placeOf(layout, shape, frame, index, at), shape.packetWidth);
      }
      paint(context, look, colors, shape.packetWidth);
    }
  }
  context.globalAlpha = 1;
}

/** What was drawn of the queue of one port, for tests: a length in pixels that stands for bytes. */
export interface DrawnQueue {
  readonly port: number;
  readonly pixels: number;
  readonly bytes: number;
}

/**
 * Draws the queues as stacks, from the exit of each port inwards, to one scale for all ports. The frames in a queue are
 * drawn singly where they have room; a queue of more frames than the engine lists goes on as one bar.
 */
export function drawQueues(
  context: Context,
  shape: Geometry,
  frame: Frame,
  looks: readonly Look[],
  pixelsPerByte: number,
  colors: Colors,
): DrawnQueue[] {
  const drawn: DrawnQueue[] = [];
  const { queueBytes, creditQueueBytes, count } = frame.ports;
  const { x0, y0, inX, inY } = shape.lanes;
  const along = (port: number, from: number, to: number) => {
    context.moveTo(x0[port]! + inX[port]! * from, y0[port]! + inY[port]! * from);
    context.lineTo(x0[port]! + inX[port]! * to, y0[port]! + inY[port]! * to);
  };
  context.lineCap = "butt";
  context.lineWidth = shape.barWidth;
  context.strokeStyle = colors.data;
  context.beginPath();
  for (let port = 0; port < count; port++) {
    if (queueBytes[port] === 0) continue;
    const pixels = queueBytes[port]! * pixelsPerByte;
    along(port, 0, pixels);
    drawn.push({ port, pixels, bytes: queueBytes[port]! });
  }
  context.stroke();

  // Over the bars: frames that are marked or not data, gaps between frames, and the comb of credits.
  const { port, kind, flags, wireBytes } = frame.queued;
  const others = new Map<Look, [number, number, number][]>();
  const gaps: [number, number][] = [];
  const credits = new Map<number, number>();
  let before = -1;
  let at = 0;
  for (let index = 0; index < frame.queued.count; index++) {
    const id = port[index]!;
    if (id !== before) at = 0;
    before = id;
    const look = lookOf(looks, kind[index]!, flags[index]!);
    if (look === "credit") {
      credits.set(id, (credits.get(id) ?? 0) + 1);
      continue;
    }
    const end = Math.min(at + wireBytes[index]! * pixelsPerByte, queueBytes[id]! * pixelsPerByte);
    if (look !== "data") {
      const spans = others.get(look);
      if (spans) spans.push([id, at, end]);
      else others.set(look, [[id, at, end]]);
    }
    if (end - at >= GAP_FROM) gaps.push([id, end]);
    at = end;
  }
  for (const [look, spans] of others) {
    context.beginPath();
    for (const [id, from, to] of spans) along(id, from, to);
    context.lineWidth = shape.barWidth;
    context.strokeStyle = look === "marked" || look === "trimmed" || look === "ack" ? colors[look] : colors.other;
    context.stroke();
    if (look === "marked") {
      context.lineWidth = Math.max(0.8, shape.barWidth * 0.22);
      context.strokeStyle = colors.paper;
      context.stroke();
    }
  }
  context.beginPath();
  for (const [id, end] of gaps) along(id, end - 0.8, end);
  context.lineWidth = shape.barWidth + 1;
  context.strokeStyle = colors.back;
  context.stroke();

  context.beginPath();
  for (let id = 0; id < count; id++) {
    if (creditQueueBytes[id] === 0) continue;
    const [dx, dy] = [inX[id]!, inY[id]!];
    const waiting = credits.get(id) ?? 1;
    const [near, far] = [shape.barWidth / 2 + 1.5, shape.barWidth / 2 + 5.5];
    for (let tooth = 0; tooth < waiting; tooth++) {
      const step = 1.5 + tooth * COMB;
      const x = x0[id]! + dx * step;
      const y = y0[id]! + dy * step;
      context.moveTo(x - dy * near, y + dx * near);
      context.lineTo(x - dy * far, y + dx * far);
    }
  }
  context.lineWidth = 1.5;
  context.strokeStyle = colors.credit;
  context.stroke();
  return drawn;
}

/** Draws the limit of its buffer across each queue of a switch, where the scale shows it. */
export function drawLimits(
  context: Context,
  shape: Geometry,
  layout: Layout,
  drawn: readonly DrawnQueue[],
  pixelsPerByte: number,
  colors: Colors,
): void {
  const { x0, y0, inX, inY } = shape.lanes;
  context.strokeStyle = colors.ink;
  context.lineWidth = 1.2;
  context.beginPath();
  for (const { port } of drawn) {
    const { from, buffer_bytes: limit } = layout.ports[port]!;
    if (layout.nodes[from]!.kind === "host" || limit === null) continue;
    const length = limit * pixelsPerByte;
    if (length > shape.barLength * 1.05) continue;
    const [dx, dy] = [inX[port]!, inY[port]!];
    const [x, y] = [x0[port]! + dx * length, y0[port]! + dy * length];
    const half = shape.barWidth / 2 + 2;
    context.moveTo(x - dy * half, y + dx * half);
    context.lineTo(x + dy * half, y - dx * half);
  }
  context.stroke();
}

/** Draws two bars over ports that pause frames stopped. */
export function drawPauses(context: Context, shape: Geometry, frame: Frame, colors: Colors): void {
  const { state, count } = frame.ports;
  const { x0, y0, x1, y1 } = shape.lanes;
  const at: Place = { headX: 0, headY: 0, tailX: 0, tailY: 0, dx: 0, dy: 0 };
  context.beginPath();
  for (let port = 0; port < count; port++) {
    if ((state[port]! & PORT_PAUSED) === 0) continue;
    const length = Math.hypot(x1[port]! - x0[port]!, y1[port]! - y0[port]!) || 1;
    at.dx = (x1[port]! - x0[port]!) / length;
    at.dy = (y1[port]! - y0[port]!) / length;
    at.headX = x0[port]! + at.dx * 7;
    at.headY = y0[port]! + at.dy * 7;
    trace(context, "pause", at, shape.packetWidth);
  }
  paint(context, "pause", colors, shape.packetWidth);
}

/** A count of ports that flashes where it grows: the ports, and the time on the page's clock at which that was seen. */
class Growth {
  readonly seen = new Map<number, number>();
  #before: Uint32Array | null = null;

  update(counts: Uint32Array, now: number): void {
    const before = this.#before;
    if (before?.length === counts.length) {
      for (let port = 0; port < counts.length; port++) if (counts[port]! > before[port]!) this.seen.set(port, now);
    }
    this.#before = counts;
  }

  /** Calls `show` for each port whose count grew a moment ago, with the age of that from 0 to 1. */
  each(now: number, show: (port: number, age: number) => void): void {
    for (const [port, since] of this.seen) {
      const age = (now - since) / FLASH_MS;
      if (age >= 1) this.seen.delete(port);
      else show(port, age);
    }
  }
}

/** Drops and trims that flash. */
export class Flashes {
  readonly #drops = new Growth();
  readonly #trims = new Growth();

  /** Takes a later frame and notes the ports that lost or cut packets since the one before. */
  update(frame: Frame, now: number): void {
    this.#drops.update(frame.ports.drops, now);
    this.#trims.update(frame.ports.trims, now);
  }

  get active(): boolean {
    return this.#drops.seen.size + this.#trims.seen.size > 0;
  }

  /** Draws a cross at each port that lost packets a moment ago, and a square at each that cut some to their headers. */
  draw(context: Context, shape: Geometry, colors: Colors, now: number): void {
    const { x0, y0, inX, inY } = shape.lanes;
    const at = (port: number, age: number) => {
      const size = Math.max(4, shape.barWidth * 0.6) * (1 + age * 0.6);
      context.globalAlpha = 1 - age;
      context.lineWidth = 2.4;
      context.beginPath();
      return [size, x0[port]! - inX[port]! * size, y0[port]! - inY[port]! * size] as const;
    };
    context.strokeStyle = colors.trimmed;
    this.#trims.each(now, (port, age) => {
      const [size, x, y] = at(port, age);
      context.rect(x - size, y - size, 2 * size, 2 * size);
      context.stroke();
    });
    context.strokeStyle = colors.alarm;
    this.#drops.each(now, (port, age) => {
      const [size, x, y] = at(port, age);
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x + size, y - size);
      context.lineTo(x - size, y + size);
      context.stroke();
    });
    context.globalAlpha = 1;
  }
}
