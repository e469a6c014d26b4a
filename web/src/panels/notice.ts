/** A line above the picture: what was not shown and why, a question before much is simulated, or that the engine works. */

import { h, put } from "../dom.ts";

/** A button of a notice. */
export type Choice = readonly [words: string, chosen: () => void];

export class Notice {
  readonly element = h("div", { class: "notice card", role: "alert", hidden: true });

  /** Shows a line with buttons, the first of which is the main one, and perhaps a field below the line. */
  show(text: string, choices: readonly Choice[] = [], alarm = false, field: HTMLElement | null = null): void {
    this.element.classList.toggle("alarm", alarm);
    const buttons = choices.map(([words, chosen], index) =>
      h("button", { type: "button", class: index === 0 ? "primary" : null, onclick: chosen }, words),
    );
    put(this.element, h("p", {}, text), field, ...(buttons.length > 0 ? [h("p", { class: "actions" }, ...buttons)] : []));
    this.element.hidden = false;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
