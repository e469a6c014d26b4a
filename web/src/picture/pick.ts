/** What lies under the pointer: a packet, a queue, a link's direction or a node. */

import { NO_ENTROPY, NO_FLOW, PACKET_TRIMMED, type Frame, type Layout } from "../engine/index.ts";
import * as format from "../format.ts";
import type { Side } from "../run/side.ts";
import type { Geometry } from "./geometry.ts";
import type { Place } from "./marks.ts";
import { placeOf } from "./traffic.ts";

/** Something in the picture. */
export type Target =
  | { readonly what: "packet"; readonly index: number; readonly flow: number | null; readonly port: number }
  | { readonly what: "port"; readonly port: number }
  | { readonly what: "node"; readonly node: number };

/** Finds what lies at a point, the smallest thing first. `reach` is how far beside it a pointer may be, in pixels. */
export function pick(layout: Layout, shape: Geometry, frame: Frame, x: number, y: number, reach: number): Target | null {
  return packetAt(layout, shape, frame, x, y, reach) ?? portAt(layout, shape, frame, x, y, reach) ?? nodeAt(layout, shape, x, y);
}

function packetAt(layout: Layout, shape: Geometry, frame: Frame, x: number, y: number, reach: number): Target | null {
  const at: Place = { headX: 0, headY: 0, tailX: 0, tailY: 0, dx: 0, dy: 0 };
  let best = reach;
  let found: Target | null = null;
  for (let index = 0; index < frame.packets.count; index++) {
    placeOf(layout, shape, frame, index, at);
    const distance = toSegment(x, y, at.tailX, at.tailY, at.headX, at.headY);
    if (distance >= best) continue;
    best = distance;
    const flow = frame.packets.flow[index]!;
    found = { what: "packet", index, flow: flow === NO_FLOW ? null : flow, port: frame.packets.port[index]! };
  }
  return found;
}

function portAt(layout: Layout, shape: Geometry, frame: Frame, x: number, y: number, reach: number): Target | null {
  const { x0, y0, x1, y1, inX, inY } = shape.lanes;
  let best = reach + 1;
  let found: Target | null = null;
  for (const { id, from } of layout.ports) {
    // A queue in a switch is as easy to hit as the whole room that it has there.
    const room = layout.nodes[from]!.kind === "switch" ? shape.barLength * (frame.ports.queueBytes[id] ? 1 : 0.4) : 0;
    const lane = toSegment(x, y, x0[id]!, y0[id]!, x1[id]!, y1[id]!);
    const queue = toSegment(x, y, x0[id]!, y0[id]!, x0[id]! + inX[id]! * room, y0[id]! + inY[id]! * room);
    const distance = Math.min(lane, queue);
    if (distance >= best) continue;
    best = distance;
    found = { what: "port", port: id };
  }
  return found;
}

function nodeAt(layout: Layout, shape: Geometry, x: number, y: number): Target | null {
  for (const { id } of layout.nodes) {
    const node = shape.nodes[id]!;
    const [dx, dy] = [Math.abs(x - node.x), Math.abs(y - node.y)];
    const inside = node.round ? Math.hypot(dx, dy) <= node.halfWidth + 2 : dx <= node.halfWidth + 2 && dy <= node.halfHeight + 2;
    if (inside) return { what: "node", node: id };
  }
  return null;
}

function toSegment(x: number, y: number, x0: number, y0: number, x1: number, y1: number): number {
  const dx = x1 - x0;
  const dy = y1 - y0;
  const share = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - share * dx, y - y0 - share * dy);
}

/** A thing in a few words, for the hint beside the pointer. */
export function describe(side: Side, target: Target): string {
  const { layout, frame, rates } = side;
  if (target.what === "node") {
    const node = layout.nodes[target.node]!;
    return `${node.kind} ${node.name}${node.alias ? ` (${node.alias})` : ""}`;
  }
  const port = layout.ports[target.port]!;
  if (target.what === "port") {
    const queue = format.bytes(frame.ports.queueBytes[port.id]!);
    const use = Math.round((100 * rates.port(port.id)) / port.rate_bps);
    return `port ${port.name}: queue ${queue}, ${use} % of ${format.rate(port.rate_bps)}`;
  }
  const { kind, flags, wireBytes, entropy } = frame.packets;
  const cut = (flags[target.index]! & PACKET_TRIMMED) !== 0 ? "header of cut " : "";
  const name = cut + (layout.kinds[kind[target.index]!] ?? "packet");
  const marked = (flags[target.index]! & 1) !== 0 ? ", marked" : "";
  const again = (flags[target.index]! & 2) !== 0 ? ", sent again" : "";
  const flow = target.flow === null ? "" : ` of flow ${target.flow}`;
  const value = entropy[target.index]!;
  const by = value === NO_ENTROPY ? "" : `, entropy ${value}`;
  return `${name}${flow}, ${wireBytes[target.index]} B${marked}${again}${by}, on ${port.name}`;
}

/** The entropy values and ports of the data of a flow that is on links now, in order. */
export function underWay({ layout, frame }: Side, id: number): { entropies: number[]; ports: number[] } {
  const { count, flow, kind, entropy, port } = frame.packets;
  const entropies = new Set<number>();
  const ports = new Set<number>();
  for (let index = 0; index < count; index++) {
    if (flow[index] !== id || layout.kinds[kind[index]!] !== "data" || entropy[index] === NO_ENTROPY) continue;
    entropies.add(entropy[index]!);
    ports.add(port[index]!);
  }
  const ascending = (set: Set<number>) => [...set].sort((a, b) => a - b);
  return { entropies: ascending(entropies), ports: ascending(ports) };
}
