/** Light or dark: as the system has it, until the reader says otherwise. */

import { type Colors, colorsOf } from "./colors.ts";

const STORED = "clearway-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** The theme of the page, and who wants to hear that it changed. */
export class Theme {
  colors: Colors;
  readonly #listeners: ((colors: Colors) => void)[] = [];

  constructor() {
    this.colors = colorsOf(this.#wanted());
    this.#apply();
    system.addEventListener("change", () => this.#apply());
  }

  /** Calls `listener` now and after each change. */
  follow(listener: (colors: Colors) => void): void {
    this.#listeners.push(listener);
    listener(this.colors);
  }

  /** Goes from light to dark and back. */
  toggle(): void {
    try {
      localStorage.setItem(STORED, this.colors.dark ? "light" : "dark");
    } catch {
      // A page from disk may have no storage: the choice then lasts as long as the page.
    }
    this.#set(!this.colors.dark);
  }

  #wanted(): boolean {
    try {
      const stored = localStorage.getItem(STORED);
      if (stored) return stored === "dark";
    } catch {
      // No storage: as the system has it.
    }
    return system.matches;
  }

  #apply(): void {
    this.#set(this.#wanted());
  }

  #set(dark: boolean): void {
    this.colors = colorsOf(dark);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    for (const listener of this.#listeners) listener(this.colors);
  }
}
