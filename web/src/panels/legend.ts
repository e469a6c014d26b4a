/** The legend, which is always in sight: what each mark, bar and line of the picture means. */

import { h, put } from "../dom.ts";
import * as format from "../format.ts";
import { LOOKS, MEANING, sample } from "../picture/marks.ts";
import type { Colors } from "../style/colors.ts";

type Draw = (context: CanvasRenderingContext2D, colors: Colors) => void;

const WIDTH = 34;
const HEIGHT = 16;

/** A small picture with the words beside it. */
function entry(words: string, title: string, colors: Colors, draw: Draw): HTMLElement {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const scale = devicePixelRatio || 1;
  canvas.width = WIDTH * scale;
  canvas.height = HEIGHT * scale;
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  draw(context, colors);
  return h("li", { title }, canvas, h("span", {}, words));
}

function line(context: CanvasRenderingContext2D, color: string, width: number, dash: number[] = []): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(2, HEIGHT / 2);
  context.lineTo(WIDTH - 2, HEIGHT / 2);
  context.stroke();
  context.setLineDash([]);
}

function queue(context: CanvasRenderingContext2D, colors: Colors): void {
  context.strokeStyle = colors.muted;
  context.strokeRect(3.5, 2.5, 27, 11);
  context.fillStyle = colors.data;
  for (const step of [0, 1, 2]) context.fillRect(25 - step * 6, 4, 5, 8);
  context.fillStyle = colors.marked;
  context.fillRect(7, 4, 5, 8);
  context.fillStyle = colors.paper;
  context.fillRect(7, 7, 5, 2);
}

function comb(context: CanvasRenderingContext2D, colors: Colors): void {
  context.fillStyle = colors.credit;
  for (let tooth = 0; tooth < 7; tooth++) context.fillRect(7 + tooth * 3, 5, 1.5, 6);
}

function drop(context: CanvasRenderingContext2D, colors: Colors): void {
  context.strokeStyle = colors.alarm;
  context.lineWidth = 2.4;
  context.beginPath();
  context.moveTo(12, 3);
  context.lineTo(22, 13);
  context.moveTo(22, 3);
  context.lineTo(12, 13);
  context.stroke();
}

function trim(context: CanvasRenderingContext2D, colors: Colors): void {
  context.strokeStyle = colors.trimmed;
  context.lineWidth = 2.4;
  context.strokeRect(12, 3, 10, 10);
}

/** What the legend shows: its entries depend on how large the networks are. */
export interface LegendOf {
  readonly large: boolean;
  readonly fullBytes: number;
  /** Kinds of packets that may occur, so that the legend names no others. */
  readonly withCredits: boolean;
  readonly withTrims: boolean;
}

export class Legend {
  readonly element = h("ul", { class: "legend", "aria-label": "Legend" });
  #key = "";

  show(what: LegendOf, colors: Colors): void {
    const key = `${JSON.stringify(what)}${colors.dark}`;
    if (key === this.#key) return;
    this.#key = key;
    const entries: HTMLElement[] = [];
    const add = (words: string, title: string, draw: Draw) => entries.push(entry(words, title, colors, draw));
    if (what.large) {
      for (const [words, from, to] of [
        ["link used up to 0.5", 0, 4],
        ["up to 1", 4, 8],
      ] as const) {
        add(words, "The share of its rate that a direction of a link carries, smoothed over 50 us", (context) => {
          const steps = colors.heat.slice(from, to);
          steps.forEach((color, step) => {
            context.fillStyle = color;
            context.fillRect(2 + (step * 30) / steps.length, 4, 30 / steps.length + 0.5, 8);
          });
        });
      }
      add("path of a fast flow", "The paths of the five flows with the highest rates, in the colours of their list", (context) => line(context, colors.series[1]!, 3));
    } else {
      for (const look of LOOKS) {
        if (look === "credit" && !what.withCredits) continue;
        if (look === "trimmed" && !what.withTrims) continue;
        add(...MEANING[look], (context) => sample(context, look, colors, WIDTH / 2, HEIGHT / 2));
      }
    }
    const full = format.bytes(what.fullBytes);
    add(`queue, full at ${full}`, `The queue of each port stands inside its switch. All are to one scale: the longest possible bar is ${full}`, queue);
    if (what.withCredits && !what.large) add("waiting credits", "Credits that wait at a port, a tooth each", comb);
    add("drop", "The port lost a packet a moment ago", drop);
    if (what.withTrims) add("trim", "The port had no room for a data packet a moment ago, and cut one to its header", trim);
    add("paused", "The port was stopped by pause frames of the next node (PFC)", (context) => line(context, colors.pause, 2.4, [5, 4]));
    add("link down", "The direction of the link has failed", (context) => line(context, colors.muted, 2.4, [1.5, 5]));
    put(this.element, ...entries);
  }
}
