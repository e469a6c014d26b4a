/**
 * The picture's lines in pixels: boxes and discs of nodes, a lane for each port (both directions of a link apart), and
 * the place of each port's queue inside its node.
 */

import type { Layout } from "../engine/index.ts";
import { place, type Places } from "./place.ts";

/** A node: a disc if `round`, else a box. */
export interface NodeShape {
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly halfHeight: number;
  readonly round: boolean;
}

/** Lanes and queues of all ports, in columns by port id. */
export interface Lanes {
  /** Where a lane leaves its node and where it reaches the next one. */
  readonly x0: Float64Array;
  readonly y0: Float64Array;
  readonly x1: Float64Array;
  readonly y1: Float64Array;
  /** Unit vector from the exit into the node, along which the port's queue stands. */
  readonly inX: Float64Array;
  readonly inY: Float64Array;
}

export interface Geometry {
  readonly width: number;
  readonly height: number;
  readonly places: Places;
  readonly nodes: readonly NodeShape[];
  readonly lanes: Lanes;
  /** Width of a queue, of data and of credits each. */
  readonly barWidth: number;
  /** The longest queue that fits into a switch: the length that the scale of queues stands for. */
  readonly barLength: number;
  /** Pixels between neighbouring hosts: the room for a name. */
  readonly spacing: number;
  /** Width of a packet across its lane. */
  readonly packetWidth: number;
}

/** Both directions of one link. */
interface Link {
  readonly a: number;
  readonly b: number;
  readonly forward: number;
  readonly backward: number | null;
}

/** Pairs ports of opposite directions, in order where a pair of nodes has several links. */
export function linksOf(layout: Layout): Link[] {
  const waiting = new Map<string, number[]>();
  const links: Link[] = [];
  for (const port of layout.ports) {
    const partners = waiting.get(`${port.to}>${port.from}`);
    const partner = partners?.shift();
    if (partner !== undefined) {
      links.push({ a: port.to, b: port.from, forward: partner, backward: port.id });
      continue;
    }
    const key = `${port.from}>${port.to}`;
    const same = waiting.get(key);
    if (same) same.push(port.id);
    else waiting.set(key, [port.id]);
  }
  for (const ports of waiting.values()) {
    for (const id of ports) {
      const port = layout.ports[id]!;
      links.push({ a: port.from, b: port.to, forward: id, backward: null });
    }
  }
  return links;
}

/** Computes the geometry of a layout in a pane of a size. */
export function geometry(layout: Layout, width: number, height: number): Geometry {
  const places = place(layout);
  const round = places.shape === "star" || places.shape === "ring";
  const side = places.shape === "chain" ? 84 : round ? 44 : 26;
  const left = Math.min(side, width * 0.14);
  const edge = places.shape === "tiers" ? 40 : 34;
  const inner = height - 2 * edge;
  const sizes = sizesOf(places, width, inner);
  const nodes = layout.nodes.map((node): NodeShape => {
    const isSwitch = node.kind === "switch";
    const x = left + places.x[node.id]! * (width - 2 * left);
    const y = edge + places.y[node.id]! * inner;
    const size = isSwitch ? sizes.switches : sizes.hosts;
    return { x, y, halfWidth: size.w, halfHeight: size.h, round: isSwitch ? round : places.shape === "star" };
  });
  const lanes = lanesOf(layout, places, nodes, sizes.lane);
  return {
    width,
    height,
    places,
    nodes,
    lanes,
    barWidth: sizes.bar,
    barLength: sizes.barLength,
    spacing: spacing(places, width, height),
    packetWidth: Math.max(2, Math.min(7, sizes.lane * 0.9)),
  };
}

/** Pixels between neighbouring hosts. */
function spacing(places: Places, width: number, height: number): number {
  if (places.shape === "chain") return height / places.widest;
  if (places.shape === "tiers") return width / places.widest;
  return (Math.PI * 0.9 * Math.min(width, height)) / Math.max(1, places.widest);
}

interface Sizes {
  readonly switches: { readonly w: number; readonly h: number };
  readonly hosts: { readonly w: number; readonly h: number };
  readonly lane: number;
  readonly bar: number;
  readonly barLength: number;
}

function sizesOf(places: Places, width: number, inner: number): Sizes {
  const clamp = (low: number, value: number, high: number) => Math.max(low, Math.min(high, value));
  const host = clamp(1.5, spacing(places, width, inner) * 0.3, 9);
  const hosts = { w: host, h: host };
  switch (places.shape) {
    case "star": {
      // The ports of many hosts need a large disc; few hosts are better served with long links.
      const least = Math.min(width, inner);
      const radius = clamp(0.2 * least, places.widest * 2, 0.33 * least);
      const room = (2 * Math.PI * radius) / Math.max(1, places.widest);
      const lane = clamp(1, room * 0.3, 4.5);
      return { switches: { w: radius, h: radius }, hosts, lane, bar: clamp(3, room, 13), barLength: radius - 16 };
    }
    case "ring": {
      const radius = clamp(14, 0.085 * Math.min(width, inner), 40);
      return { switches: { w: radius, h: radius }, hosts, lane: 4.5, bar: 8, barLength: radius * 0.92 };
    }
    case "chain": {
      const switches = [...places.x].filter((_, node) => places.tier[node]! > 0).sort((a, b) => a - b);
      const gap = (switches[1]! - switches[0]!) * width * 0.86;
      const perSide = chainHosts(places);
      const w = clamp(10, gap * 0.27, 68);
      const h = clamp(24, perSide * 9, inner * 0.46);
      return { switches: { w, h }, hosts, lane: 4.5, bar: clamp(4, (2 * h) / (perSide + 1), 14), barLength: w - 3 };
    }
    case "tiers": {
      const gap = inner / places.tiers;
      const most = rowsOf(places);
      const w = clamp(4, (0.36 * width) / most, 66);
      const h = clamp(7, gap * 0.2, 34);
      const slot = (2 * w) / Math.max(1, places.widest / Math.max(1, firstRow(places)));
      const lane = clamp(1, slot * 0.22, 4);
      return { switches: { w, h }, hosts, lane, bar: clamp(2, slot * 0.5, 12), barLength: h - 3 };
    }
  }
}

/** The most hosts beside one end of a chain. */
function chainHosts(places: Places): number {
  const beside = (end: number) => places.x.filter((x, node) => places.tier[node] === 0 && x === end).length;
  return Math.max(1, beside(0), beside(1));
}

function firstRow(places: Places): number {
  return places.tier.filter((tier) => tier === 1).length;
}

/** The most switches in one row. */
function rowsOf(places: Places): number {
  const rows = new Map<number, number>();
  for (const tier of places.tier) if (tier > 0) rows.set(tier, (rows.get(tier) ?? 0) + 1);
  return Math.max(1, ...rows.values());
}

type Side = "left" | "right" | "top" | "bottom";

function lanesOf(layout: Layout, places: Places, nodes: readonly NodeShape[], apart: number): Lanes {
  const column = () => new Float64Array(layout.ports.length);
  const lanes: Lanes = { x0: column(), y0: column(), x1: column(), y1: column(), inX: column(), inY: column() };
  const links = linksOf(layout);
  const linksAt = layout.nodes.map((): { link: Link; index: number }[] => []);
  links.forEach((link, index) => {
    for (const node of new Set([link.a, link.b])) linksAt[node]!.push({ link, index });
  });
  const anchors = new Map<string, { x: number; y: number; inX: number; inY: number }>();
  layout.nodes.forEach((node) => {
    const shape = nodes[node.id]!;
    const sides = new Map<Side, { index: number; other: NodeShape }[]>();
    for (const { link, index } of linksAt[node.id]!) {
      const other = nodes[link.a === node.id ? link.b : link.a]!;
      if (shape.round || node.kind === "host") {
        const [dx, dy] = unit(other.x - shape.x, other.y - shape.y);
        const reach = shape.round ? shape.halfWidth : shape.halfWidth * 1.1;
        anchors.set(`${index}/${node.id}`, { x: shape.x + dx * reach, y: shape.y + dy * reach, inX: -dx, inY: -dy });
        continue;
      }
      const side = sideOf(places, node.id, link.a === node.id ? link.b : link.a);
      const beside = sides.get(side);
      if (beside) beside.push({ index, other });
      else sides.set(side, [{ index, other }]);
    }
    for (const [side, all] of sides) {
      const across = side === "left" || side === "right";
      all.sort((p, q) => (across ? p.other.y - q.other.y : p.other.x - q.other.x));
      all.forEach(({ index }, slot) => {
        const share = ((slot + 0.5) / all.length) * 2 - 1;
        const [inX, inY] = { left: [1, 0], right: [-1, 0], top: [0, 1], bottom: [0, -1] }[side] as [number, number];
        const x = across ? shape.x - inX * shape.halfWidth : shape.x + share * shape.halfWidth * 0.94;
        const y = across ? shape.y + share * shape.halfHeight * 0.94 : shape.y - inY * shape.halfHeight;
        anchors.set(`${index}/${node.id}`, { x, y, inX, inY });
      });
    }
  });
  links.forEach((link, index) => {
    const from = anchors.get(`${index}/${link.a}`)!;
    const to = anchors.get(`${index}/${link.b}`)!;
    const [dx, dy] = unit(to.x - from.x, to.y - from.y);
    // Packets keep to the right of their direction.
    const lane = (port: number, p: typeof from, q: typeof from, sign: number) => {
      const ox = -dy * apart * 0.62 * sign;
      const oy = dx * apart * 0.62 * sign;
      lanes.x0[port] = p.x + ox;
      lanes.y0[port] = p.y + oy;
      lanes.x1[port] = q.x + ox;
      lanes.y1[port] = q.y + oy;
      lanes.inX[port] = p.inX;
      lanes.inY[port] = p.inY;
    };
    lane(link.forward, from, to, 1);
    if (link.backward !== null) lane(link.backward, to, from, -1);
  });
  return lanes;
}

function unit(dx: number, dy: number): [number, number] {
  const length = Math.hypot(dx, dy) || 1;
  return [dx / length, dy / length];
}

/** The side of a switch's box on which the link to another node leaves. */
function sideOf(places: Places, node: number, other: number): Side {
  const { x, y, tier } = places;
  const beside = places.shape === "chain" ? tier[other]! > 0 || x[other] === 0 || x[other] === 1 : y[other] === y[node];
  if (beside) return x[other]! < x[node]! ? "left" : "right";
  return y[other]! < y[node]! ? "top" : "bottom";
}
