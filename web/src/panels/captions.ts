/** The captions of the opening: one sentence at a time while it runs, or all of them in a list while it stands still. */

import { h, write } from "../dom.ts";
import { captionAt, CAPTIONS } from "../opening.ts";

/** What the captions ask the page to do. */
export interface CaptionsActions {
  toggle(): void;
  /** Begins the opening again. */
  again(): void;
  /** Ends the opening before its time. */
  skip(): void;
  /** Goes to an instant in ps. */
  seek(instant: number): void;
  gallery(): void;
  close(): void;
}

/**
 * The state of the opening: it runs, or is paused; it stands still for readers who want little motion; it is over, or the
 * reader has skipped the rest.
 */
export type Stage = "running" | "still" | "over" | "skipped";

const OFFER = "Choose another scene from the gallery, or move the sliders below to change this one.";

export class Captions {
  readonly element: HTMLElement;
  readonly #text = h("p", { class: "caption", "aria-live": "polite" });
  readonly #list: HTMLOListElement;
  readonly #offer = h("p", { class: "muted" }, OFFER);
  readonly #play = h("button", { type: "button" });
  readonly #skip: HTMLButtonElement;
  readonly #again: HTMLButtonElement;
  readonly #gallery: HTMLButtonElement;
  readonly #close: HTMLButtonElement;
  #stage: Stage = "running";

  constructor(actions: CaptionsActions) {
    this.#play.addEventListener("click", actions.toggle);
    this.#skip = h("button", { type: "button", onclick: actions.skip }, "Skip");
    this.#again = h("button", { type: "button", onclick: actions.again }, "Again");
    this.#gallery = h("button", { type: "button", class: "primary", onclick: actions.gallery }, "Open the gallery");
    this.#close = h("button", { type: "button", onclick: actions.close }, "Close");
    this.#list = h(
      "ol",
      { class: "moments" },
      ...CAPTIONS.map(({ from, written, text }) => {
        const go = h("button", { type: "button", class: "link", "aria-label": `Show ${written}`, onclick: () => actions.seek(from) }, written);
        return h("li", {}, go, h("span", {}, text));
      }),
    );
    this.element = h(
      "section",
      { class: "captions card", "aria-label": "Opening", hidden: true },
      h("div", { class: "words" }, this.#text, this.#list, this.#offer),
      h("p", { class: "actions" }, this.#gallery, this.#play, this.#again, this.#skip, this.#close),
    );
  }

  /** Shows the captions in a stage of the opening. */
  show(stage: Stage): void {
    this.#stage = stage;
    const isOver = stage === "over" || stage === "skipped";
    this.element.hidden = false;
    this.#text.hidden = stage === "still" || stage === "skipped";
    this.#list.hidden = stage !== "still";
    this.#offer.hidden = this.#close.hidden = !isOver;
    this.#gallery.hidden = stage === "running";
    this.#play.hidden = this.#skip.hidden = isOver;
    this.#again.hidden = stage === "still";
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Shows the caption of an instant, and whether the opening plays. */
  update(now: number, playing: boolean): void {
    const current = captionAt(now);
    write(this.#text, CAPTIONS[current]!.text);
    write(this.#play, playing ? "Pause" : "Play");
    if (this.#stage !== "still") return;
    [...this.#list.children].forEach((item, index) => {
      if (index === current) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
  }
}

