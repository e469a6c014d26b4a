/** The sliders that change numbers of the scenario on both sides at once. */

import { h, put, write } from "../dom.ts";
import type { Knob } from "../knobs.ts";

/** A slider on the page. */
interface Shown {
  knob: Knob;
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  readonly value: HTMLOutputElement;
}

export class Sliders {
  readonly element: HTMLElement;
  readonly #list = h("div", { class: "knobs" });
  readonly #reset: HTMLButtonElement;
  readonly #turn: (knob: Knob, index: number) => void;
  #shown: Shown[] = [];

  constructor(turn: (knob: Knob, index: number) => void, reset: () => void) {
    this.#turn = turn;
    this.#reset = h("button", { type: "button", title: "Undo all changes of the scenario's text", onclick: reset }, "Undo changes");
    this.element = h("section", { class: "sliders card", "aria-label": "Change the scenario on both sides", hidden: true }, this.#list, this.#reset);
  }

  /** Shows the sliders of a scenario. One that was there before stays, so that it keeps the focus and the pointer. */
  show(knobs: readonly Knob[], isChanged: boolean): void {
    const before = new Map(this.#shown.map((one) => [keyOf(one.knob), one]));
    this.#shown = knobs.map((knob) => {
      const shown = before.get(keyOf(knob)) ?? this.#make(knob);
      shown.knob = knob;
      shown.input.max = String(knob.choices.length - 1);
      shown.input.value = String(knob.index);
      this.#say(shown);
      return shown;
    });
    const elements = this.#shown.map(({ element }) => element);
    // Elements that are put anew lose the focus.
    if (elements.length !== this.#list.children.length || elements.some((element, index) => this.#list.children[index] !== element)) {
      put(this.#list, ...elements);
    }
    this.#reset.disabled = !isChanged;
    this.element.hidden = knobs.length === 0;
  }

  #make(knob: Knob): Shown {
    const input = h("input", { type: "range", min: "0", step: "1" });
    const value = h("output");
    const element = h("label", { title: knob.title }, h("span", { class: "name" }, knob.label), input, value);
    const shown: Shown = { knob, element, input, value };
    input.addEventListener("input", () => {
      this.#say(shown);
      this.#turn(shown.knob, input.valueAsNumber);
    });
    return shown;
  }

  #say({ knob, input, value }: Shown): void {
    const words = knob.choices[input.valueAsNumber]?.words ?? "";
    write(value, words);
    input.setAttribute("aria-valuetext", words);
  }
}

function keyOf(knob: Knob): string {
  return `${knob.label} ${knob.path.join(".")}`;
}
