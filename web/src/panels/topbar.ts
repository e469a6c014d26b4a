/** The bar at the top: scenario, transports of both sides, seed, and the switches of the page. */

import type { Catalog } from "../engine/index.ts";
import { h, put } from "../dom.ts";
import type { Scene } from "../gallery.ts";
import type { View } from "../state.ts";
import { icon } from "./icons.ts";

/** What the bar asks the page to do. */
export interface TopbarActions {
  scenario(name: string): void;
  transport(side: "left" | "right", choice: string): void;
  seed(seed: number | null): void;
  edit(): void;
  lessons(): void;
  theme(): void;
  help(): void;
}

export class Topbar {
  readonly element: HTMLElement;
  readonly #scenario = h("select", { id: "scenario" });
  readonly #left = h("select", { id: "left", "aria-label": "Transport on the left" });
  readonly #right = h("select", { id: "right", "aria-label": "Transport on the right" });
  readonly #seed = h("input", { id: "seed", type: "number", min: "0", step: "1", inputMode: "numeric" });
  readonly #edit: HTMLButtonElement;
  readonly #lessons: HTMLButtonElement;

  constructor(scenes: readonly Scene[], catalog: Catalog, actions: TopbarActions) {
    for (const scene of scenes) this.#scenario.append(h("option", { value: scene.name, title: scene.about }, scene.title));
    for (const select of [this.#left, this.#right]) {
      select.append(h("option", { value: "own" }, "as in the scenario"));
      const families = [...new Set(catalog.transports.map((one) => one.family))];
      for (const family of families) {
        const group = h("optgroup", { label: family });
        for (const one of catalog.transports) if (one.family === family) group.append(h("option", { value: one.name, title: one.summary }, one.name));
        select.append(group);
      }
    }
    this.#right.append(h("option", { value: "none" }, "nothing"));
    this.#scenario.addEventListener("change", () => actions.scenario(this.#scenario.value));
    this.#left.addEventListener("change", () => actions.transport("left", this.#left.value));
    this.#right.addEventListener("change", () => actions.transport("right", this.#right.value));
    this.#seed.addEventListener("change", () => {
      const seed = this.#seed.valueAsNumber;
      actions.seed(Number.isSafeInteger(seed) && seed >= 0 ? seed : null);
    });
    this.#edit = h("button", { type: "button", title: "Show and change the scenario's text (e)", "aria-expanded": "false", onclick: actions.edit }, "Edit");
    this.#lessons = h("button", { type: "button", title: "Lessons (l)", "aria-expanded": "false", onclick: actions.lessons }, "Lessons");
    const version = h("span", { class: "muted version" }, catalog.version);
    this.element = h(
      "header",
      { class: "topbar" },
      h("h1", {}, "Clearway", version),
      this.#lessons,
      h("label", {}, h("span", {}, "Scenario"), this.#scenario),
      this.#edit,
      h("span", { class: "sides" }, h("label", {}, h("span", {}, "Left"), this.#left), h("label", {}, h("span", {}, "Right"), this.#right)),
      h("label", { class: "seed" }, h("span", {}, "Seed"), this.#seed),
      h(
        "span",
        { class: "switches" },
        h("button", { type: "button", title: "Light or dark (d)", "aria-label": "Light or dark", onclick: actions.theme }, icon("theme")),
        h("button", { type: "button", title: "Help and keys (?)", "aria-label": "Help and keys", onclick: actions.help }, "?"),
      ),
    );
  }

  /** Shows a view. */
  show(view: View, editing: boolean, learning: boolean, seed: number | null, title: string | null): void {
    let changed = this.#scenario.querySelector<HTMLOptionElement>("option[data-changed]");
    changed?.remove();
    this.#scenario.value = view.scenario;
    if (view.text !== null) {
      changed = h("option", { value: view.scenario, "data-changed": "" }, `${title ?? view.scenario}, changed`);
      this.#scenario.prepend(changed);
      this.#scenario.selectedIndex = 0;
    }
    this.#left.value = view.left;
    this.#right.value = view.right;
    this.#seed.value = view.seed === null ? "" : String(view.seed);
    this.#seed.placeholder = seed === null ? "" : String(seed);
    this.#edit.setAttribute("aria-expanded", String(editing));
    this.#lessons.setAttribute("aria-expanded", String(learning));
  }

  /** Hides what has no use on this page. */
  hide(what: { lessons: boolean }): void {
    this.#lessons.hidden = what.lessons;
  }
}

/** The keys of the page, as the help lists them. */
export const KEYS: readonly (readonly [string, string])[] = [
  ["Space", "play or pause"],
  ["→", "step by 1 us"],
  ["Shift →", "step to the next event"],
  ["←", "back to the time before; the run is simulated again up to there"],
  ["Home", "restart"],
  ["+ −", "faster, slower"],
  ["e", "show or hide the scenario's text"],
  ["l", "show or hide the lessons"],
  ["d", "light or dark"],
  ["Esc", "stay where the run has come to on the way to a time; else close, or select nothing"],
  ["?", "this help"],
];

/** The help, as a dialog. */
export function helpDialog(): HTMLDialogElement {
  const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" });
  const rows = KEYS.map(([key, meaning]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, meaning)));
  put(
    dialog,
    h("h2", { id: "help-title" }, "What this page shows"),
    h("p", {}, "Two transports carry the same traffic over the same network, packet by packet, at the same simulated instant. The simulator runs in this page, and its results are those of the clearway command, bit for bit."),
    h("p", {}, "Click a link or a queue for its port, and a packet for its flow. The address of the page holds everything that you see, so a link shows it to others."),
    h("table", {}, h("tbody", {}, ...rows)),
    h("p", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close")),
  );
  return dialog;
}
