/** The lessons beside the picture: their list, and the sentences of the one that is shown. */

import { h, put } from "../dom.ts";
import { prose, type Lesson } from "../lessons.ts";

export class Guide {
  readonly element: HTMLElement;
  readonly #list = h("ol", { class: "lessons" });
  readonly #text = h("article", { tabIndex: -1 });
  readonly #lessons: readonly Lesson[];
  readonly #open: (lesson: Lesson) => void;

  constructor(lessons: readonly Lesson[], open: (lesson: Lesson) => void, close: () => void) {
    this.#lessons = lessons;
    this.#open = open;
    this.element = h(
      "aside",
      { class: "guide card", "aria-label": "Lessons", hidden: true },
      h("header", {}, h("h2", {}, "Lessons"), h("button", { type: "button", "aria-label": "Close the lessons", title: "Close (l)", onclick: close }, "×")),
      this.#list,
      this.#text,
    );
  }

  /** Shows a lesson, or only the list. */
  show(name: string | null): void {
    const index = this.#lessons.findIndex((lesson) => lesson.name === name);
    put(
      this.#list,
      ...this.#lessons.map((lesson) => {
        const current = lesson.name === name;
        return h("li", {}, h("button", { type: "button", class: "link", "aria-current": current ? "true" : null, onclick: () => this.#open(lesson) }, lesson.title));
      }),
    );
    const lesson = this.#lessons[index];
    if (!lesson) {
      put(this.#text, h("p", { class: "muted" }, "Each lesson shows one scene with a few sentences about what to look at."));
      return;
    }
    const go = (words: string, other: Lesson | undefined) => other && h("button", { type: "button", onclick: () => this.#open(other) }, words);
    put(
      this.#text,
      h("h3", {}, lesson.title),
      ...prose(lesson.body),
      h(
        "p",
        { class: "actions" },
        go("← Before", this.#lessons[index - 1]) ?? null,
        h("button", { type: "button", onclick: () => this.#open(lesson) }, "Start over"),
        go("Next →", this.#lessons[index + 1]) ?? null,
      ),
    );
    this.#text.scrollTop = 0;
  }
}
