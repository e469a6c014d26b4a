/** What was found, in sentences, once the runs have ended. The engine makes them, as it does for the terminal and for reports. */

import type { Findings as Found } from "../engine/index.ts";
import { h, put } from "../dom.ts";
import type { Side } from "../run/side.ts";

export class Findings {
  readonly element: HTMLElement;
  readonly #list = h("ul");
  /** The results that the sentences are on. */
  #key = "";

  constructor() {
    this.element = h("section", { class: "findings", "aria-label": "Findings", "aria-live": "polite", hidden: true }, this.#list);
  }

  /** Asks for sentences on the sides once all of them have a result, and hides those on others. */
  async update(sides: readonly (Side | null)[]): Promise<void> {
    const shown = sides.filter((side) => side !== null);
    const isOver = shown.length > 0 && shown.every((side) => side.result !== null);
    const names = namesOf(shown);
    const key = isOver ? shown.map((side, index) => `${names[index]} ${side.result!.hash}`).join() : "";
    if (key === this.#key) return;
    this.#key = key;
    this.element.hidden = true;
    if (!isOver) return;
    const facts = shown.map((side, index) => ({ ...side.result!.facts, name: names[index]! }));
    const found = await shown[0]!.engine.call<Found>({ op: "findings", facts }).catch(() => null);
    if (found === null || key !== this.#key) return;
    put(this.#list, ...found.findings.map(({ text }) => h("li", {}, text)));
    this.element.hidden = false;
  }
}

/** The transports of the sides, told apart where both are the same. */
function namesOf(sides: readonly Side[]): string[] {
  const names = sides.map((side) => side.layout.transports.join(" + "));
  const isTwice = names.length === 2 && names[0] === names[1];
  return names.map((name, index) => (isTwice ? `${name} (${index === 0 ? "left" : "right"})` : name));
}
