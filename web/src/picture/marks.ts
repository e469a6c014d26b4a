/**
 * How packets look: each kind has a colour and a shape of its own, so that no one needs colours to tell them apart. The
 * legend draws with the same functions as the picture.
 */

import type { Colors } from "../style/colors.ts";

/** The looks of packets. Several kinds of control packets share one. */
export const LOOKS = ["data", "marked", "trimmed", "credit", "ack", "cnp", "pause", "control"] as const;
export type Look = (typeof LOOKS)[number];

/** What a look stands for, in the words of the legend. */
export const MEANING: Record<Look, readonly [string, string]> = {
  data: ["data", "A data packet; its length is to scale along its link"],
  marked: ["data with a mark", "A data packet that a switch marked because its queue was long (ECN)"],
  trimmed: ["header of cut data", "What a switch with a full queue left of a data packet (trimming); it tells the receiver at once what is missing"],
  credit: ["credit", "A credit permits the sender to send one data packet"],
  ack: ["ACK", "An acknowledgement"],
  cnp: ["CNP", "A congestion notification packet tells the sender to slow down"],
  pause: ["pause frame", "A frame of priority flow control (PFC) that stops or starts the port at the other end of its link"],
  control: ["other control", "A control packet of another kind: SYN, credit request, credit stop, negative acknowledgement"],
};

/** The look of each kind of the engine, by the kind's number: for packets without a mark. */
export function looksOf(kinds: readonly string[]): Look[] {
  return kinds.map((kind): Look => {
    switch (kind) {
      case "data":
      case "credit":
      case "ack":
      case "cnp":
      case "pause":
        return kind;
      default:
        return kind.startsWith("pause") ? "pause" : kind === "syn-ack" ? "ack" : "control";
    }
  });
}

/** The colour of a look. */
export function colorOfLook(colors: Colors, look: Look): string {
  return look === "control" ? colors.other : colors[look];
}

/** A packet on its lane: the places of its first and last bit, and the direction of travel. */
export interface Place {
  headX: number;
  headY: number;
  tailX: number;
  tailY: number;
  dx: number;
  dy: number;
}

/** Adds a packet to the path that is being built; `stroked` looks are lines, the others are filled. */
export function trace(path: CanvasRenderingContext2D, look: Look, at: Place, width: number): void {
  const { headX: x, headY: y, dx, dy } = at;
  const half = width / 2;
  switch (look) {
    case "data":
    case "marked":
      path.moveTo(at.tailX, at.tailY);
      path.lineTo(x, y);
      return;
    case "credit": {
      const reach = Math.max(half * 1.5, 2.5);
      path.moveTo(x - dy * reach, y + dx * reach);
      path.lineTo(x + dy * reach, y - dx * reach);
      return;
    }
    case "ack": {
      // A triangle that points where it goes.
      const size = Math.max(half * 1.35, 2.2);
      path.moveTo(x + dx * size, y + dy * size);
      path.lineTo(x - dx * size - dy * size, y - dy * size + dx * size);
      path.lineTo(x - dx * size + dy * size, y - dy * size - dx * size);
      path.closePath();
      return;
    }
    case "cnp": {
      const size = Math.max(half * 2, 4);
      path.moveTo(x + size, y);
      path.lineTo(x, y + size);
      path.lineTo(x - size, y);
      path.lineTo(x, y - size);
      path.closePath();
      return;
    }
    case "pause": {
      // Two bars, as on the button that pauses.
      const size = Math.max(half * 1.7, 4);
      for (const side of [-0.65, 0.65]) {
        const cx = x + dx * size * side;
        const cy = y + dy * size * side;
        path.moveTo(cx - dy * size, cy + dx * size);
        path.lineTo(cx + dy * size, cy - dx * size);
      }
      return;
    }
    case "trimmed": {
      // A hollow square: the packet is there, its payload is not.
      const size = Math.max(half * 1.1, 2.2);
      path.moveTo(x - dx * size - dy * size, y - dy * size + dx * size);
      path.lineTo(x + dx * size - dy * size, y + dy * size + dx * size);
      path.lineTo(x + dx * size + dy * size, y + dy * size - dx * size);
      path.lineTo(x - dx * size + dy * size, y - dy * size - dx * size);
      path.closePath();
      return;
    }
    case "control": {
      const size = Math.max(half * 1.1, 2.2);
      path.moveTo(x + size, y);
      path.arc(x, y, size, 0, 2 * Math.PI);
      return;
    }
  }
}

/** Paints the path of a look that `trace` has built. */
export function paint(context: CanvasRenderingContext2D, look: Look, colors: Colors, width: number): void {
  const color = colorOfLook(colors, look);
  context.lineCap = "butt";
  switch (look) {
    case "data":
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
      return;
    case "marked":
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
      // A stripe along the middle tells marked data from other data without its colour.
      context.strokeStyle = colors.paper;
      context.lineWidth = Math.max(0.8, width * 0.3);
      context.stroke();
      return;
    case "credit":
      context.strokeStyle = color;
      context.lineWidth = Math.max(1.2, Math.min(2, width * 0.3));
      context.stroke();
      return;
    case "pause":
      context.strokeStyle = color;
      context.lineWidth = Math.max(2, width * 0.45);
      context.stroke();
      return;
    case "trimmed":
    case "control":
      context.strokeStyle = color;
      context.lineWidth = 1.4;
      context.stroke();
      return;
    case "ack":
    case "cnp":
      context.fillStyle = color;
      context.fill();
      return;
  }
}

/** Draws one packet for the legend, travelling to the right through the middle of a small canvas. */
export function sample(context: CanvasRenderingContext2D, look: Look, colors: Colors, x: number, y: number): void {
  const length = look === "data" || look === "marked" ? 9 : 0;
  context.beginPath();
  if (look === "credit") {
    // Credits come as a comb.
    for (const step of [-7, -2, 3, 8]) {
      trace(context, look, { headX: x + step, headY: y, tailX: x, tailY: y, dx: 1, dy: 0 }, 6);
    }
  } else {
    trace(context, look, { headX: x + length, headY: y, tailX: x - length, tailY: y, dx: 1, dy: 0 }, 6);
  }
  paint(context, look, colors, 6);
}
