/** The scenario's text, which the reader may change, with the engine's error at its line. */

import { h, put, write } from "../dom.ts";

/** Checks a text; it answers with the engine's error, or null. */
export type Check = (text: string) => Promise<string | null>;

/** The line of an error such as `incast:7: topology.rate: ...`, and its message. */
export function errorLine(error: string): { line: number | null; message: string } {
  const found = /^[^\n]*?:(\d+): ([\s\S]*)$/.exec(error);
  return found ? { line: Number(found[1]), message: found[2]! } : { line: null, message: error };
}

export class Editor {
  readonly element: HTMLElement;
  readonly #area = h("textarea", {
    spellcheck: false,
    "aria-label": "Scenario in TOML",
    "aria-describedby": "scenario-error",
    wrap: "off",
    autocapitalize: "off",
  });
  readonly #numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  readonly #band = h("div", { class: "band", hidden: true });
  readonly #error = h("p", { class: "error", id: "scenario-error", role: "alert" });
  readonly #check: Check;
  #timer = 0;
  #turn = 0;

  constructor(check: Check, run: (text: string) => void, close: () => void) {
    this.#check = check;
    const runButton = h("button", { type: "button", class: "primary", title: "Run this text (Ctrl+Enter)" }, "Run");
    runButton.addEventListener("click", () => run(this.#area.value));
    this.#area.addEventListener("input", () => {
      this.#number();
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.check(), 350);
    });
    this.#area.addEventListener("scroll", () => this.#follow());
    this.#area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        run(this.#area.value);
      } else if (event.key === "Escape") close();
      event.stopPropagation();
    });
    this.element = h(
      "section",
      { class: "editor card", "aria-label": "Scenario", hidden: true },
      h("div", { class: "code" }, this.#numbers, this.#band, this.#area),
      this.#error,
      h(
        "p",
        { class: "actions" },
        runButton,
        h("button", { type: "button", onclick: close }, "Close"),
        h("span", { class: "muted" }, "The text is checked while you type. Every key is explained on the page Scenario files of the documentation."),
      ),
    );
  }

  get text(): string {
    return this.#area.value;
  }

  /** Shows a text. */
  show(text: string): void {
    if (this.#area.value !== text) {
      this.#area.value = text;
      this.#area.setSelectionRange(0, 0);
      this.#area.scrollTop = 0;
    }
    this.#number();
    this.error(null);
  }

  focus(): void {
    this.#area.focus();
    this.#number();
  }

  /** Shows the engine's error at its line, or that there is none. */
  error(error: string | null): void {
    const { line, message } = error === null ? { line: null, message: "" } : errorLine(error);
    write(this.#error, error === null ? "" : line === null ? message : `Line ${line}: ${message}`);
    this.#error.onclick = line === null ? null : () => this.#goTo(line);
    this.#band.hidden = line === null;
    for (const number of this.#numbers.children) number.classList.remove("wrong");
    if (line !== null) {
      this.#numbers.children[line - 1]?.classList.add("wrong");
      this.#band.dataset["line"] = String(line);
      this.#follow();
    }
    if (error === null) this.#area.removeAttribute("aria-invalid");
    else this.#area.setAttribute("aria-invalid", "true");
  }

  async check(): Promise<void> {
    const turn = ++this.#turn;
    const error = await this.#check(this.#area.value);
    if (turn === this.#turn) this.error(error);
  }

  /** Puts the cursor into a line and shows it. */
  #goTo(line: number): void {
    const start = this.#area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.#area.focus();
    this.#area.setSelectionRange(start, start);
    this.#area.scrollTop = Math.max(0, (line - 4) * Number.parseFloat(getComputedStyle(this.#area).lineHeight));
  }

  #number(): void {
    const lines = this.#area.value.split("\n").length;
    if (this.#numbers.children.length === lines) return;
    put(this.#numbers, ...Array.from({ length: lines }, (_, index) => h("div", {}, String(index + 1))));
  }

  /** Keeps numbers and the band of the wrong line beside the text while it scrolls. */
  #follow(): void {
    const top = this.#area.scrollTop;
    this.#numbers.style.transform = `translateY(${-top}px)`;
    const line = Number(this.#band.dataset["line"] ?? 1);
    this.#band.style.transform = `translateY(calc(${line - 1} * var(--line) - ${top}px))`;
  }
}
