/** The scenario's text, which the reader may change, with the engine's error at its line. */

import { h, put, write } from "../dom.ts";
import { linesOf, textProblem } from "../limits.ts";

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
  #lines = 1;
  /** The line of the error, if it has one. */
  #wrong: number | null = null;
  #timer = 0;
  #turn = 0;

  constructor(check: Check, run: (text: string) => void, close: () => void) {
    this.#check = check;
    const runButton = h("button", { type: "button", class: "primary", title: "Run this text (Ctrl+Enter)" }, "Run");
    runButton.addEventListener("click", () => run(this.#area.value));
    this.#area.addEventListener("input", () => {
      this.#count();
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.check(), 350);
    });
    this.#area.addEventListener("paste", (event) => this.#paste(event));
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
    this.#count();
    this.error(null);
  }

  focus(): void {
    this.#area.focus();
    this.#count();
  }

  /** Shows the engine's error at its line, or that there is none. */
  error(error: string | null): void {
    const { line, message } = error === null ? { line: null, message: "" } : errorLine(error);
    write(this.#error, error === null ? "" : line === null ? message : `Line ${line}: ${message}`);
    this.#error.onclick = line === null ? null : () => this.#goTo(line);
    this.#band.hidden = line === null;
    this.#wrong = line;
    this.#follow();
    if (error === null) this.#area.removeAttribute("aria-invalid");
    else this.#area.setAttribute("aria-invalid", "true");
  }

  async check(): Promise<void> {
    const turn = ++this.#turn;
    const error = await this.#check(this.#area.value);
    if (turn === this.#turn) this.error(error);
  }

  /** Inserts a long text itself: a browser takes half a minute for 2,000 lines. Short ones are left to it, as it can undo them. */
  #paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length <= PASTED.text && linesOf(text) <= PASTED.lines) return;
    event.preventDefault();
    const problem = textProblem(text);
    if (problem !== null) return this.error(problem);
    this.#area.setRangeText(text, this.#area.selectionStart, this.#area.selectionEnd, "end");
    this.#area.dispatchEvent(new Event("input"));
  }

  /** Puts the cursor into a line and shows it. */
  #goTo(line: number): void {
    const start = this.#area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.#area.focus();
    this.#area.setSelectionRange(start, start);
    this.#area.scrollTop = Math.max(0, (line - 4) * Number.parseFloat(getComputedStyle(this.#area).lineHeight));
  }

  #count(): void {
    this.#lines = linesOf(this.#area.value);
    this.#follow();
  }

  /** Keeps the numbers of the lines in sight and the band of the wrong line beside the text while it scrolls. */
  #follow(): void {
    if (this.element.hidden) return;
    const top = this.#area.scrollTop;
    const height = Number.parseFloat(getComputedStyle(this.#area).lineHeight) || LINE;
    const first = Math.floor(top / height) + 1;
    const last = Math.min(this.#lines, first + Math.ceil(this.#area.clientHeight / height) + 1);
    const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    put(this.#numbers, ...numbers.map((line) => h("div", { class: line === this.#wrong ? "wrong" : null }, String(line))));
    this.#numbers.style.transform = `translateY(${(first - 1) * height - top}px)`;
    this.#band.style.transform = `translateY(calc(${(this.#wrong ?? 1) - 1} * var(--line) - ${top}px))`;
  }
}

/** The longest text that the browser inserts itself. */
const PASTED = { text: 20_000, lines: 100 } as const;

/** The height of a line in pixels, as the style sheet has it. */
const LINE = 18;
