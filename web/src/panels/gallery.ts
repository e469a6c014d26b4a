/** The gallery: a dialog of cards, each with a small picture of a scene and a sentence on what one sees in it. */

import { h } from "../dom.ts";
import type { Engine } from "../engine/index.ts";
import type { Card, Group } from "../gallery.ts";
import { drawSmall } from "../picture/small.ts";
import { endShots, shotsOf, type Shot } from "../run/shots.ts";
import type { Theme } from "../style/theme.ts";

/** A card on the page. */
interface Shown {
  readonly card: Card;
  readonly button: HTMLButtonElement;
  readonly canvas: HTMLCanvasElement;
  /** What its picture shows; null until that was simulated. */
  shots: readonly Shot[] | null;
}

export class GalleryDialog {
  readonly element: HTMLDialogElement;
  readonly #engine: Engine;
  readonly #theme: Theme;
  readonly #shown: Shown[] = [];
  readonly #open: (card: Card) => void;
  /** True while shots are taken. */
  #isTaking = false;

  /** `withPictures` is false where the engine simulates outside the page, which keeps it for what the reader looks at. */
  constructor(groups: readonly Group[], engine: Engine, theme: Theme, withPictures: boolean, open: (card: Card) => void) {
    this.#engine = engine;
    this.#theme = theme;
    this.#open = open;
    this.element = h(
      "dialog",
      { class: "gallery", "aria-labelledby": "gallery-title" },
      h(
        "header",
        {},
        h("h2", { id: "gallery-title" }, "Gallery"),
        h("button", { type: "button", "aria-label": "Close the gallery", title: "Close (Esc)", onclick: () => this.element.close() }, "×"),
      ),
      ...groups.map((group) => this.#section(group, withPictures)),
    );
    // A click beside the cards closes the dialog.
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
    theme.follow(() => this.element.open && this.#draw());
    new ResizeObserver(() => this.element.open && this.#draw()).observe(this.element);
  }

  #section({ title, cards }: Group, withPictures: boolean): HTMLElement {
    const items = cards.map((card) => {
      const canvas = h("canvas", { "aria-hidden": "true", hidden: !withPictures });
      const button = h(
        "button",
        { type: "button", class: "scene-card", "data-scene": card.lesson ? `lesson:${card.lesson.name}` : card.scene.name },
        canvas,
        h("span", { class: "title" }, card.title),
        h("span", { class: "sentence" }, card.sentence),
      );
      button.addEventListener("click", () => {
        this.element.close();
        this.#open(card);
      });
      this.#shown.push({ card, button, canvas, shots: withPictures ? null : [] });
      return h("li", {}, button);
    });
    return h("section", {}, h("h3", {}, title), h("ul", { class: "cards" }, ...items));
  }

  /** Opens the dialog, with the card of the present scene marked. */
  show(scenario: string, lesson: string | null): void {
    let current: HTMLButtonElement | null = null;
    for (const { card, button } of this.#shown) {
      const isCurrent = card.lesson ? card.lesson.name === lesson : lesson === null && card.scene.name === scenario;
      if (isCurrent) current = button;
      button.toggleAttribute("data-current", isCurrent);
      if (isCurrent) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    this.element.showModal();
    (current ?? this.#shown[0]?.button)?.focus();
    this.#draw();
    void this.#take();
  }

  /** Takes the shots that are missing, while the dialog is open, and draws each. */
  async #take(): Promise<void> {
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      for (const shown of this.#shown) {
        if (shown.shots !== null) continue;
        if (!this.element.open) break;
        shown.shots = await shotsOf(this.#engine, shown.card);
        drawSmall(shown.canvas, shown.shots, this.#theme.colors);
      }
    } finally {
      this.#isTaking = false;
      await endShots(this.#engine);
    }
  }

  #draw(): void {
    for (const { canvas, shots } of this.#shown) if (shots) drawSmall(canvas, shots, this.#theme.colors);
  }
}
