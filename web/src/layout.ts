/** The order of the parts on the page. */

import { h, put } from "./dom.ts";

/** The parts, by the place where they stand. */
export interface Parts {
  /** Bars, notices and what stands over the picture, from the top down. */
  readonly above: readonly HTMLElement[];
  /** The sentences of a lesson, beside the picture. */
  readonly guide: HTMLElement;
  readonly panes: readonly HTMLElement[];
  readonly legend: HTMLElement;
  /** What is read below the picture: what is selected, and finished flows. They share the width. */
  readonly details: readonly HTMLElement[];
  /** Dialogs, and what only screen readers hear. */
  readonly aside: readonly HTMLElement[];
}

/** Puts the parts into the page. */
export function arrange(root: HTMLElement, { above, guide, panes, legend, details, aside }: Parts): void {
  const picture = h("div", { class: "picture" }, h("div", { class: "panes" }, ...panes), legend, h("div", { class: "details" }, ...details));
  put(root, ...above, h("div", { class: "scene" }, guide, picture), ...aside);
}
