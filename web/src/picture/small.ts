/** A small picture of one or two sides at one instant, for a card of the gallery: the picture of the page without words. */

import { niceCeiling } from "../format.ts";
import type { Shot } from "../run/shots.ts";
import type { Colors } from "../style/colors.ts";
import { geometry } from "./geometry.ts";
import { looksOf } from "./marks.ts";
import { drawLanes, drawNodes, drawUse } from "./network.ts";
import { drawPackets, drawPauses, drawQueues } from "./traffic.ts";

/** The least that a full queue stands for, in bytes, as in the large picture. */
const LEAST_FULL = 20e3;
/** The picture is laid out for a pane of so many times its size: a pane leaves room for words, and its lines are thick. */
const SHRINK = 1.8;
/** Pixels between two sides. */
const GAP = 8;

/** Draws shots beside each other into a canvas, whose size on the page it keeps. */
export function drawSmall(canvas: HTMLCanvasElement, shots: readonly Shot[], colors: Colors): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (!context || shots.length === 0 || width === 0) return;
  const full = niceCeiling(Math.max(LEAST_FULL, ...shots.flatMap(({ frame }) => [...frame.ports.queueBytes])));
  const part = (width - GAP * (shots.length - 1)) / shots.length;
  shots.forEach(({ layout, frame, rates, isLarge }, index) => {
    const small = scale / SHRINK;
    context.setTransform(small, 0, 0, small, scale * index * (part + GAP), 0);
    const shape = geometry(layout, part * SHRINK, height * SHRINK);
    const looks = looksOf(layout.kinds);
    if (isLarge) drawUse(context, shape, layout, frame, rates, colors);
    else drawLanes(context, shape, frame, colors);
    drawNodes(context, shape, layout, colors);
    drawQueues(context, shape, frame, looks, shape.barLength / full, colors);
    if (!isLarge) drawPackets(context, shape, layout, frame, looks, null, colors);
    drawPauses(context, shape, frame, colors);
  });
}
