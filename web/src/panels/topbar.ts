/** The bar at the top: scenario, transports of both sides, seed, and the switches of the page. */

import type { Catalog } from "../engine/index.ts";
import { h, put, write } from "../dom.ts";
import type { View } from "../state.ts";
import { icon } from "./icons.ts";
import { menu, type Command } from "./menu.ts";

/** What the bar asks the page to do. */
export interface TopbarActions {
  gallery(): void;
  transport(side: "left" | "right", choice: string): void;
  seed(seed: number | null): void;
  edit(): void;
  file(): void;
  share(): void;
  theme(): void;
  help(): void;
}

export class Topbar {
  readonly element: HTMLElement;
  readonly #scene = h("span", { class: "scene-name" });
  readonly #left = h("select", { id: "left", "aria-label": "Transport on the left" });
  readonly #right = h("select", { id: "right", "aria-label": "Transport on the right" });
  readonly #seed = h("input", { id: "seed", type: "number", min: "0", step: "1", inputMode: "numeric" });
  readonly #edit: HTMLButtonElement;

  constructor(catalog: Catalog, exports: readonly Command[], actions: TopbarActions) {
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
    this.#left.addEventListener("change", () => actions.transport("left", this.#left.value));
    this.#right.addEventListener("change", () => actions.transport("right", this.#right.value));
    this.#seed.addEventListener("change", () => {
      const seed = this.#seed.valueAsNumber;
      actions.seed(Number.isSafeInteger(seed) && seed >= 0 ? seed : null);
    });
    this.#edit = h("button", { type: "button", title: "Show and change the scenario's text (e)", "aria-expanded": "false", onclick: actions.edit }, "Edit");
    const version = h("span", { class: "muted version" }, catalog.version);
    this.element = h(
      "header",
      { class: "topbar" },
      h("h1", {}, "Clearway", version),
      h(
        "button",
        { type: "button", class: "choose", title: "Gallery: choose what is shown (g)", "aria-haspopup": "dialog", "aria-keyshortcuts": "g", onclick: actions.gallery },
        icon("gallery"),
        h("span", { class: "visually-hidden" }, "Gallery, now: "),
        this.#scene,
      ),
      this.#edit,
      h("span", { class: "sides" }, h("label", {}, h("span", {}, "Left"), this.#left), h("label", {}, h("span", {}, "Right"), this.#right)),
      h("label", { class: "seed" }, h("span", {}, "Seed"), this.#seed),
      h(
        "span",
        { class: "switches" },
        h("button", { type: "button", title: "Open a scenario from a file; it can be dropped on the page, too (o)", "aria-keyshortcuts": "o", onclick: actions.file }, "Open"),
        h("button", { type: "button", title: "Copy a link to this moment (s)", "aria-keyshortcuts": "s", onclick: actions.share }, "Share"),
        menu("Export", "Save the scenario, the picture or the finished flows", exports),
        h("button", { type: "button", class: "sign", title: "Light or dark (d)", "aria-label": "Light or dark", onclick: actions.theme }, icon("theme")),
        h("button", { type: "button", class: "sign", title: "Help and keys (?)", "aria-label": "Help and keys", onclick: actions.help }, "?"),
      ),
    );
  }

  /** Shows a view. */
  show(view: View, editing: boolean, seed: number | null, title: string): void {
    write(this.#scene, title);
    this.#left.value = view.left;
    this.#right.value = view.right;
    this.#seed.value = view.seed === null ? "" : String(view.seed);
    this.#seed.placeholder = seed === null ? "" : String(seed);
    this.#edit.setAttribute("aria-expanded", String(editing));
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
  ["g", "gallery: choose what is shown"],
  ["e", "show or hide the scenario's text"],
  ["o", "open a scenario from a file"],
  ["s", "copy a link to this moment"],
  ["l", "show or hide the sentences of the lessons"],
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
