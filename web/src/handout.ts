/** What the page takes from the reader's files and hands out: opened and dropped scenarios, links, and exports. */

import { h } from "./dom.ts";
import { exportedText, flowsCsv, readScenario, save } from "./files.ts";
import type { Command } from "./panels/menu.ts";
import type { Notice } from "./panels/notice.ts";
import type { Side } from "./run/side.ts";
import type { View } from "./state.ts";

/** How long a notice stays that says only that something worked, in ms. */
const GLANCE_MS = 5000;

/** What is handed out. */
export interface Shown {
  /** The name for files. */
  readonly name: string;
  readonly view: View;
  readonly text: string;
  readonly sides: readonly (Side | null)[];
}

/** What the page does for it. */
export interface Desk {
  shown(): Shown;
  /** A link to the moment that is shown. */
  link(): Promise<string>;
  picture(): Promise<Blob>;
  open(name: string, text: string): void;
}

export class Handout {
  readonly #desk: Desk;
  readonly #notice: Notice;
  readonly #file = h("input", { type: "file", accept: ".toml,application/toml,text/plain", hidden: true, "aria-label": "Scenario to open" });
  #timer = 0;

  constructor(desk: Desk, notice: Notice) {
    this.#desk = desk;
    this.#notice = notice;
    this.#file.addEventListener("change", () => {
      const file = this.#file.files?.[0];
      if (file) void this.#take(file);
      // The same file may be chosen again after it was changed.
      this.#file.value = "";
    });
    document.body.append(this.#file);
    this.#listenToDrops();
  }

  /** The commands of the menu "Export". */
  get exports(): readonly Command[] {
    return [
      ["Scenario (.toml)", () => this.#export("toml")],
      ["Picture (.png)", () => this.#export("png")],
      ["Finished flows (.csv)", () => this.#export("csv")],
    ];
  }

  /** Lets the reader choose a file. */
  choose(): void {
    this.#file.click();
  }

  /** Copies a link to what is shown, or shows the link where the browser does not let the page copy. */
  async share(): Promise<void> {
    const link = await this.#desk.link();
    const local = location.protocol === "file:" ? " This page is a file, so the link works on this machine only." : "";
    try {
      await navigator.clipboard.writeText(link);
      this.#say(`The link to this moment is copied.${local}`);
    } catch {
      const field = h("input", { type: "text", readOnly: true, value: link, class: "link-field", "aria-label": "Link to this moment" });
      this.#notice.show(`The browser does not let this page copy. Copy the link from here:${local}`, [["Close", () => this.#notice.hide()]], false, field);
      field.select();
      field.focus();
    }
  }

  async #export(what: "toml" | "png" | "csv"): Promise<void> {
    const { name, view, text, sides } = this.#desk.shown();
    try {
      if (what === "toml") save(`${name}.toml`, new Blob([exportedText(text, view, name)], { type: "application/toml" }));
      else if (what === "png") save(`${name}.png`, await this.#desk.picture());
      else {
        await Promise.all(sides.map((side) => side?.collect()));
        save(`${name}-flows.csv`, new Blob([flowsCsv(sides)], { type: "text/csv" }));
      }
    } catch (error) {
      this.#notice.show(`The export failed: ${String(error)}.`, [["Close", () => this.#notice.hide()]], true);
    }
  }

  async #take(file: File): Promise<void> {
    const opened = await readScenario(file);
    if ("problem" in opened) this.#notice.show(opened.problem, [["Close", () => this.#notice.hide()]], true);
    else this.#desk.open(opened.name, opened.text);
  }

  /** Takes files that are dropped anywhere on the page. */
  #listenToDrops(): void {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    };
    const leave = () => document.body.classList.remove("dropping");
    addEventListener("dragenter", over);
    addEventListener("dragover", over);
    addEventListener("dragleave", (event) => event.relatedTarget === null && leave());
    addEventListener("drop", (event) => {
      leave();
      const files = event.dataTransfer?.files;
      if (!files || files.length === 0) return;
      event.preventDefault();
      if (files.length > 1) return this.#notice.show("Drop one scenario at a time.", [["Close", () => this.#notice.hide()]], true);
      void this.#take(files[0]!);
    });
  }

  /** Says for a moment that something worked. */
  #say(text: string): void {
    this.#notice.show(text);
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#notice.element.textContent === text && this.#notice.hide(), GLANCE_MS);
  }
}
