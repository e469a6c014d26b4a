/** The lower layer of the picture: links, nodes and their names, the room for queues, and highlighted paths. */

import { PORT_DOWN, PORT_PAUSED, type Frame, type Layout } from "../engine/index.ts";
import type { Rates } from "../run/rates.ts";
import { heat, type Colors } from "../style/colors.ts";
import type { Geometry } from "./geometry.ts";

/** Ports on the path of something selected or of a top flow, with the colour that they are drawn in. */
export interface Trail {
  readonly ports: readonly number[];
  readonly color: string;
  readonly width: number;
}

type Context = CanvasRenderingContext2D;

/** Draws the links as thin lanes, one for each direction. */
export function drawLanes(context: Context, shape: Geometry, frame: Frame, colors: Colors): void {
  const { state, count } = frame.ports;
  context.lineCap = "butt";
  const idle = (port: number) => (state[port]! & (PORT_PAUSED | PORT_DOWN)) === 0;
  lane(context, shape, colors.grid, Math.max(1, shape.packetWidth * 0.45), [], count, idle);
  drawStates(context, shape, frame, colors);
}

/** Draws the links by their use: colour and width say how much of its rate each direction carries. */
export function drawUse(context: Context, shape: Geometry, layout: Layout, frame: Frame, rates: Rates, colors: Colors): void {
  const steps = new Map<string, number[]>();
  for (const color of colors.heat) steps.set(color, []);
  for (const port of layout.ports) steps.get(heat(colors, rates.port(port.id) / port.rate_bps))!.push(port.id);
  let step = 0;
  // The busiest are drawn last, on top of the others.
  for (const [color, ports] of steps) {
    context.lineWidth = Math.max(0.7, Math.min(1, shape.packetWidth / 3)) * (0.7 + step * 0.32);
    context.strokeStyle = color;
    strokeAll(context, shape, ports);
    step += 1;
  }
  drawStates(context, shape, frame, colors);
}

/** Draws links that are down, and those whose port is paused. */
function drawStates(context: Context, shape: Geometry, frame: Frame, colors: Colors): void {
  const { state, count } = frame.ports;
  const width = Math.max(1.2, shape.packetWidth * 0.5);
  lane(context, shape, colors.pause, width, [5, 4], count, (port) => (state[port]! & PORT_PAUSED) !== 0);
  lane(context, shape, colors.muted, width, [1.5, 5], count, (port) => (state[port]! & PORT_DOWN) !== 0);
}

function lane(
  context: Context,
  shape: Geometry,
  color: string,
  width: number,
  dash: number[],
  count: number,
  chosen: (port: number) => boolean,
): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  const { x0, y0, x1, y1 } = shape.lanes;
  for (let port = 0; port < count; port++) {
    if (!chosen(port)) continue;
    context.moveTo(x0[port]!, y0[port]!);
    context.lineTo(x1[port]!, y1[port]!);
  }
  context.stroke();
  context.setLineDash([]);
}

function strokeAll(context: Context, shape: Geometry, ports: readonly number[]): void {
  const { x0, y0, x1, y1 } = shape.lanes;
  context.beginPath();
  for (const port of ports) {
    context.moveTo(x0[port]!, y0[port]!);
    context.lineTo(x1[port]!, y1[port]!);
  }
  context.stroke();
}

/** Draws paths, such as that of the selected flow, below whatever moves on them. */
export function drawTrails(context: Context, shape: Geometry, trails: readonly Trail[]): void {
  context.lineCap = "round";
  for (const { ports, color, width } of trails) {
    context.strokeStyle = color;
    context.lineWidth = width;
    strokeAll(context, shape, ports);
  }
  context.lineCap = "butt";
}

/** Draws the nodes: switches as open boxes or discs, in which queues stand, and hosts as filled ones. */
export function drawNodes(context: Context, shape: Geometry, layout: Layout, colors: Colors): void {
  for (const node of layout.nodes) {
    const { x, y, halfWidth, halfHeight, round } = shape.nodes[node.id]!;
    context.beginPath();
    if (round) context.arc(x, y, halfWidth, 0, 2 * Math.PI);
    else context.roundRect(x - halfWidth, y - halfHeight, 2 * halfWidth, 2 * halfHeight, Math.min(5, halfWidth / 2));
    if (node.kind === "host") {
      context.fillStyle = colors.muted;
      context.fill();
    } else {
      context.fillStyle = colors.back;
      context.fill();
      context.strokeStyle = colors.muted;
      context.lineWidth = Math.min(1.3, halfHeight / 6);
      context.stroke();
    }
  }
}

/** Writes the names of nodes, where there is room; switches have theirs inside. */
export function drawNames(context: Context, shape: Geometry, layout: Layout, colors: Colors): void {
  context.font = "11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
  context.fillStyle = colors.muted;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const wide = (name: string) => context.measureText(name).width;
  const room = (host: number) => roomFor(shape, host);
  const hosts = layout.nodes.filter((node) => node.kind === "host");
  // Names of a few hosts among many without would only ask why.
  const named = shape.spacing >= 12 && hosts.every(({ id, name }) => wide(name) <= room(id)) ? hosts : hosts.slice(0, 1);
  for (const node of layout.nodes) {
    const at = shape.nodes[node.id]!;
    const names = node.alias === null ? [node.name] : [node.alias, node.name];
    if (node.kind === "switch") {
      const name = at.halfHeight >= 10 ? names.find((one) => wide(one) <= 2 * at.halfWidth - 8) : undefined;
      // The queues of a star reach its centre.
      if (name !== undefined) context.fillText(name, at.x, at.y + (shape.places.shape === "star" ? at.halfHeight * 0.6 : 0));
      continue;
    }
    if (!named.includes(node)) continue;
    const name = names.find((one) => wide(one) <= room(node.id)) ?? node.name;
    const [dx, dy] = outward(shape, node.id);
    const reach = at.halfWidth + 5 + (Math.abs(dx) * wide(name)) / 2 + Math.abs(dy) * 5;
    context.fillText(name, at.x + dx * reach, at.y + dy * reach);
  }
}

/** Pixels that the name of a host may take. */
function roomFor(shape: Geometry, host: number): number {
  const { x } = shape.nodes[host]!;
  const [dx, dy] = outward(shape, host);
  const beside = Math.min(x, shape.width - x) - 16;
  if (dy === 0) return beside;
  return dx === 0 ? shape.spacing - 4 : Math.max(shape.spacing + 8, 30);
}

/** The direction from a host to its name: away from the network. */
function outward(shape: Geometry, host: number): [number, number] {
  const { places, nodes, width, height } = shape;
  const { x, y } = nodes[host]!;
  if (places.shape === "tiers") return [0, 1];
  if (places.shape === "chain") {
    if (places.x[host] === 0 || places.x[host] === 1) return [places.x[host] === 0 ? -1 : 1, 0];
    return [0, places.y[host] === 0 ? -1 : 1];
  }
  const length = Math.hypot(x - width / 2, y - height / 2) || 1;
  return [(x - width / 2) / length, (y - height / 2) / length];
}
