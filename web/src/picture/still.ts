/** The picture of both sides as one image, for export. */

import type { Colors } from "../style/colors.ts";
import type { Pane } from "./pane.ts";

/** Pixels of the page around the panes, and the height of the headings. */
const MARGIN = 16;
const HEADING = 30;
const FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/** Draws what panes show side by side, with a heading over all and the transport over each. */
export function still(panes: readonly Pane[], heading: string, colors: Colors): Promise<Blob> {
  const shown = panes.filter((pane) => !pane.element.hidden);
  const scale = Math.max(2, devicePixelRatio || 1);
  const width = shown.reduce((sum, pane) => sum + pane.size.width + MARGIN, MARGIN);
  const height = Math.max(0, ...shown.map((pane) => pane.size.height)) + 2 * HEADING + 2 * MARGIN;
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  context.fillStyle = colors.paper;
  context.fillRect(0, 0, width, height);
  context.fillStyle = colors.ink;
  context.font = `600 15px ${FONT}`;
  context.fillText(heading, MARGIN, MARGIN + 14);
  let left = MARGIN;
  for (const pane of shown) {
    context.fillStyle = colors.ink;
    context.font = `600 14px ${FONT}`;
    context.fillText(pane.title, left, MARGIN + HEADING + 14);
    for (const layer of pane.layers) context.drawImage(layer, left, MARGIN + 2 * HEADING, pane.size.width, pane.size.height);
    left += pane.size.width + MARGIN;
  }
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser gave no picture"))), "image/png"));
}
