/**
 * Where nodes stand: hosts at the bottom and switches above them by their distance from hosts, unless the network is a
 * star, a chain or a ring, which have a picture of their own. Places are in units of the pane, 0 to 1.
 */

import type { Layout } from "../engine/index.ts";

/** The arrangement of a network. */
export type Shape = "star" | "chain" | "ring" | "tiers";

export interface Places {
  readonly shape: Shape;
  /** Place of each node, by id. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Row of each node, counted from the hosts: 0 for hosts. */
  readonly tier: Uint16Array;
  /** Number of rows of switches. */
  readonly tiers: number;
  /** The most nodes that stand in one row (tiers), around the centre (star, ring) or in the chain. */
  readonly widest: number;
}

/** Neighbours of each node, each once, in the order of ids. */
export function neighbours(layout: Layout): number[][] {
  const found = layout.nodes.map(() => new Set<number>());
  for (const port of layout.ports) {
    found[port.from]!.add(port.to);
    found[port.to]!.add(port.from);
  }
  return found.map((one) => [...one].sort((a, b) => a - b));
}

/** Finds the places of all nodes. */
export function place(layout: Layout): Places {
  const count = layout.nodes.length;
  const near = neighbours(layout);
  const tier = Uint16Array.from(layout.nodes, (node) => node.tier);
  const switches = layout.nodes.filter((node) => node.kind === "switch").map((node) => node.id);
  const tiers = Math.max(1, ...tier);
  const blank = { x: new Float64Array(count), y: new Float64Array(count), tier, tiers };
  if (switches.length <= 1) return star(layout, blank, switches[0]);
  const spine = (node: number) => near[node]!.filter((other) => layout.nodes[other]!.kind === "switch");
  if (tiers === 1) {
    const ends = switches.filter((node) => spine(node).length === 1);
    const straight = switches.every((node) => spine(node).length <= 2);
    if (straight && ends.length === 2) return chain(layout, blank, near, walk(ends[0]!, spine));
    return ring(layout, blank, near, walk(switches[0]!, spine));
  }
  return rows(layout, blank, near);
}

type Blank = Pick<Places, "x" | "y" | "tier" | "tiers">;

/** The nodes that can be reached from a node, depth first: along a chain or around a ring in their order. */
function walk(start: number, next: (node: number) => number[]): number[] {
  const seen = new Set<number>();
  const stack = [start];
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    stack.push(...next(node).reverse());
  }
  return [...seen];
}

/** One switch in the middle, hosts around it; the first host is on the right. */
function star(layout: Layout, blank: Blank, centre: number | undefined): Places {
  const hosts = layout.nodes.filter((node) => node.id !== centre);
  if (centre !== undefined) {
    blank.x[centre] = 0.5;
    blank.y[centre] = 0.5;
  }
  hosts.forEach((host, index) => {
    const angle = (2 * Math.PI * index) / hosts.length;
    blank.x[host.id] = 0.5 + 0.5 * Math.cos(angle);
    blank.y[host.id] = 0.5 - 0.5 * Math.sin(angle);
  });
  return { ...blank, shape: "star", widest: hosts.length };
}

/** Switches in a row; hosts of the ends beside them, those of the others below. */
function chain(layout: Layout, blank: Blank, near: number[][], order: number[]): Places {
  const last = order.length - 1;
  let tallest = 1;
  order.forEach((node, index) => {
    // More switches take more of the width.
    const margin = 0.24 - Math.min(0.1, 0.02 * (last - 1));
    blank.x[node] = margin + ((1 - 2 * margin) * index) / last;
    blank.y[node] = 0.5;
    const hosts = near[node]!.filter((other) => layout.nodes[other]!.kind === "host");
    const atEnd = index === 0 || index === last;
    hosts.forEach((host, number) => {
      const share = (number + 0.5) / hosts.length;
      if (atEnd) {
        blank.x[host] = index === 0 ? 0 : 1;
        blank.y[host] = share;
      } else {
        const below = number % 2 === 0;
        const column = (Math.floor(number / 2) + 0.5) / Math.ceil(hosts.length / 2);
        blank.x[host] = blank.x[node]! + ((column - 0.5) * 0.4) / last;
        blank.y[host] = below ? 1 : 0;
      }
    });
    tallest = Math.max(tallest, hosts.length);
  });
  return { ...blank, shape: "chain", widest: Math.max(order.length, tallest) };
}

/** Switches around a centre, hosts further out. */
function ring(layout: Layout, blank: Blank, near: number[][], order: number[]): Places {
  let most = 1;
  order.forEach((node, index) => {
    const angle = Math.PI / 2 + (2 * Math.PI * index) / order.length;
    blank.x[node] = 0.5 + 0.27 * Math.cos(angle);
    blank.y[node] = 0.5 - 0.27 * Math.sin(angle);
    const hosts = near[node]!.filter((other) => layout.nodes[other]!.kind === "host");
    hosts.forEach((host, number) => {
      const spread = (2 * Math.PI * 0.8) / order.length;
      const turn = angle + spread * ((number + 0.5) / hosts.length - 0.5);
      blank.x[host] = 0.5 + 0.5 * Math.cos(turn);
      blank.y[host] = 0.5 - 0.5 * Math.sin(turn);
    });
    most = Math.max(most, hosts.length);
  });
  return { ...blank, shape: "ring", widest: order.length * most };
}

/** Rows by tier, hosts at the bottom in the order of their switches; higher switches stand above those below them. */
function rows(layout: Layout, blank: Blank, near: number[][]): Places {
  const { x, y, tier, tiers } = blank;
  const byTier: number[][] = Array.from({ length: tiers + 1 }, () => []);
  for (const node of layout.nodes) byTier[tier[node.id]!]!.push(node.id);
  for (const row of byTier.slice(1)) spread(row, x);
  // Two passes settle shapes whose ids do not follow their places.
  for (let pass = 0; pass < 2; pass++) {
    for (let level = 1; level <= tiers; level++) {
      const below = (node: number) => near[node]!.filter((other) => tier[other]! < level);
      if (level > 1) sortBy(byTier[level]!, (node) => mean(below(node), x));
      spread(byTier[level]!, x);
    }
  }
  sortBy(byTier[0]!, (host) => mean(near[host]!, x));
  spread(byTier[0]!, x);
  // A switch of the lowest row stands above its hosts.
  for (const node of byTier[1]!) {
    const hosts = near[node]!.filter((other) => tier[other] === 0);
    if (hosts.length > 0) x[node] = mean(hosts, x);
  }
  for (const node of layout.nodes) y[node.id] = 1 - tier[node.id]! / tiers;
  return { ...blank, shape: "tiers", widest: Math.max(...byTier.map((row) => row.length)) };
}

function spread(row: number[], x: Float64Array): void {
  row.forEach((node, index) => (x[node] = (index + 0.5) / row.length));
}

function mean(nodes: number[], x: Float64Array): number {
  return nodes.reduce((sum, node) => sum + x[node]!, 0) / Math.max(1, nodes.length);
}

/** Sorts by a key; equal keys keep their order. */
function sortBy(row: number[], key: (node: number) => number): void {
  const keys = new Map(row.map((node) => [node, key(node)]));
  row.sort((a, b) => keys.get(a)! - keys.get(b)!);
}
