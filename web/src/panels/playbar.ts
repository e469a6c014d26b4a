/** The bar of the playback: its buttons, the time, the line of time and the speed. */

import { h, put, write } from "../dom.ts";
import * as format from "../format.ts";
import type { Player } from "../run/player.ts";
import { SPEEDS } from "../state.ts";
import { icon, type Icon } from "./icons.ts";

/** Steps of the line of time. */
const STEPS = 1000;
/** Steps of the speed for each power of ten. */
const DECADE = 10;

export class Playbar {
  readonly element: HTMLElement;
  readonly #player: Player;
  readonly #play: HTMLButtonElement;
  readonly #back: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #event: HTMLButtonElement;
  readonly #time = h("output", { class: "time", "aria-label": "Simulated time" });
  readonly #line = h("input", { type: "range", class: "line", min: "0", max: String(STEPS), step: "1", "aria-label": "Line of time" });
  readonly #speed = h("input", {
    type: "range",
    class: "speed",
    min: String(Math.log10(SPEEDS.least) * DECADE),
    max: String(Math.log10(SPEEDS.most) * DECADE),
    step: "1",
    "aria-label": "Speed",
  });
  readonly #rate = h("output", { class: "rate" });
  readonly #seek = h("progress", { max: 1, hidden: true, "aria-label": "Simulating up to the time" });
  #dragged = false;
  #playing: boolean | null = null;

  constructor(player: Player, speed: (speed: number) => void) {
    this.#player = player;
    const restart = control("Restart", "restart", "Home", () => void player.restart());
    this.#back = control("Back to the time before; it is simulated again", "back", "ArrowLeft", () => void player.back());
    this.#play = control("Play", "play", "Space", () => player.toggle());
    this.#play.classList.add("primary");
    this.#step = control("Step by 1 us", "step", "ArrowRight", () => void player.step("time"));
    this.#event = control("Step to the next event", "event", "Shift+ArrowRight", () => void player.step("event"));
    this.#line.addEventListener("input", () => (this.#dragged = true));
    this.#line.addEventListener("change", () => {
      this.#dragged = false;
      void player.seek(Math.round((this.#line.valueAsNumber / STEPS) * player.horizon));
    });
    this.#speed.addEventListener("input", () => speed(10 ** (this.#speed.valueAsNumber / DECADE)));
    this.element = h(
      "div",
      { class: "playbar", role: "group", "aria-label": "Playback" },
      h("div", { class: "buttons" }, restart, this.#back, this.#play, this.#step, this.#event),
      this.#time,
      h("div", { class: "lines" }, this.#line, this.#seek),
      h("label", { class: "pace" }, h("span", { class: "name" }, "Speed"), this.#speed, this.#rate),
    );
  }

  /** Shows the state of the player. */
  update(): void {
    const player = this.#player;
    write(this.#time, format.instant(player.now));
    if (!this.#dragged) {
      const share = player.horizon > 0 ? player.now / player.horizon : 0;
      this.#line.value = String(Math.round(share * STEPS));
      this.#line.disabled = player.horizon === 0;
      this.#line.setAttribute("aria-valuetext", format.instant(player.now));
    }
    if (player.playing !== this.#playing) {
      this.#playing = player.playing;
      put(this.#play, icon(player.playing ? "pause" : "play"));
      this.#play.setAttribute("aria-label", player.playing ? "Pause" : "Play");
      this.#play.title = `${player.playing ? "Pause" : "Play"} (Space)`;
    }
    this.#play.disabled = player.ended;
    this.#step.disabled = player.ended;
    this.#event.disabled = player.ended;
    this.#back.disabled = player.now === 0;
    const step = String(Math.round(Math.log10(player.speed) * DECADE));
    if (this.#speed.value !== step) this.#speed.value = step;
    const asked = `${format.duration(player.speed * 1e6)}/s`;
    this.#speed.setAttribute("aria-valuetext", asked);
    const slow = player.playing && player.reached !== null;
    write(this.#rate, slow ? `${format.duration(player.reached! * 1e6)}/s of ${asked}` : asked);
    this.#rate.title = slow ? "The engine does not get as far as asked for" : "Simulated time a second";
  }

  /** Shows how far the way to another time has come. */
  seeking(share: number | null): void {
    this.#seek.hidden = share === null;
    this.#seek.value = share ?? 0;
  }
}

function control(label: string, sign: Icon, key: string, run: () => void): HTMLButtonElement {
  const shown = key.replace("ArrowLeft", "←").replace("ArrowRight", "→");
  const button = h("button", { type: "button", title: `${label} (${shown})`, "aria-label": label, "aria-keyshortcuts": key }, icon(sign));
  button.addEventListener("click", (event) => {
    run();
    // After a click the space bar plays and pauses; whoever goes by keys keeps the focus.
    if (event.detail > 0) button.blur();
  });
  return button;
}
