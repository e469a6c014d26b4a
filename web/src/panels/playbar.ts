/** The bar of the playback: its buttons, the time, which can be typed, the line of time, and the speed or the way to another time. */

import { h, put, write } from "../dom.ts";
import * as format from "../format.ts";
import type { Player } from "../run/player.ts";
import { SPEEDS } from "../state.ts";
import { icon, type Icon } from "./icons.ts";

/** Steps of the line of time. */
const STEPS = 1000;
/** Steps of the speed for each power of ten. */
const DECADE = 10;
/** A way to another time is shown once it takes longer than this, in ms. */
const PATIENCE_MS = 200;

export class Playbar {
  readonly element: HTMLElement;
  readonly #player: Player;
  readonly #play: HTMLButtonElement;
  readonly #back: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #event: HTMLButtonElement;
  readonly #time = h("input", {
    type: "text",
    class: "time",
    autocomplete: "off",
    enterKeyHint: "go",
    title: "Write a time such as 12.5 ms, or end, and press Enter",
    "aria-label": "Simulated time",
    "aria-describedby": "time-error",
  });
  readonly #refusal = h("p", { id: "time-error", class: "refusal", role: "alert", hidden: true });
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
  readonly #pace = h("label", { class: "pace" }, h("span", { class: "name" }, "Speed"), this.#speed, this.#rate);
  readonly #end = h("span", { class: "end" });
  readonly #progress = h("progress", { max: 1, "aria-label": "Share of the way that is simulated" });
  readonly #way = h("span", { class: "way" });
  readonly #seek: HTMLElement;
  #dragged = false;
  /** True while the field of the time has a text of the reader. */
  #typed = false;
  /** True while the reader is at that field: what is selected or written there stays, though time goes on. */
  #held = false;
  #playing: boolean | null = null;

  constructor(player: Player, speed: (speed: number) => void) {
    this.#player = player;
    const restart = control("Restart", "restart", "Home", () => void player.restart());
    this.#back = control("Back to the time before; it is simulated again", "back", "ArrowLeft", () => void player.back());
    this.#play = control("Play", "play", "Space", () => player.toggle());
    this.#play.classList.add("primary");
    this.#step = control("Step by 1 us", "step", "ArrowRight", () => void player.step("time"));
    this.#event = control("Step to the next event", "event", "Shift+ArrowRight", () => void player.step("event"));
    this.#line.addEventListener("input", () => {
      this.#dragged = true;
      write(this.#end, `→ ${format.duration(this.#chosen())}`);
    });
    this.#line.addEventListener("change", () => {
      this.#dragged = false;
      void player.seek(this.#chosen());
    });
    this.#listenToTime();
    const cancel = h(
      "button",
      { type: "button", title: "Stay at the time that the run has come to (Esc)", "aria-keyshortcuts": "Escape", onclick: () => player.cancel() },
      "Cancel",
    );
    this.#seek = h("div", { class: "seek", role: "group", "aria-label": "On the way to another time", hidden: true }, this.#way, this.#progress, cancel);
    this.#speed.addEventListener("input", () => speed(10 ** (this.#speed.valueAsNumber / DECADE)));
    this.element = h(
      "div",
      { class: "playbar", role: "group", "aria-label": "Playback" },
      h("div", { class: "buttons" }, restart, this.#back, this.#play, this.#step, this.#event),
      this.#time,
      h("div", { class: "lines" }, this.#line, this.#end),
      this.#pace,
      this.#seek,
      this.#refusal,
    );
  }

  /** The instant in ps that the line of time points at. */
  #chosen(): number {
    return Math.round((this.#line.valueAsNumber / STEPS) * this.#player.horizon);
  }

  /** Lets the reader write a time: Enter goes there, and Escape or leaving the field gives it up. */
  #listenToTime(): void {
    const time = this.#time;
    const refuse = (text: string | null) => {
      write(this.#refusal, text ?? "");
      this.#refusal.hidden = text === null;
      time.setAttribute("aria-invalid", String(text !== null));
    };
    const giveUp = () => {
      this.#typed = this.#held = false;
      refuse(null);
      this.update();
    };
    time.addEventListener("focus", () => {
      this.#held = true;
      time.select();
    });
    time.addEventListener("input", () => {
      this.#typed = this.#held = true;
      refuse(null);
    });
    time.addEventListener("blur", giveUp);
    time.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#typed) {
        event.preventDefault();
        giveUp();
      }
      if (event.key !== "Enter") return;
      if (!this.#typed) return time.blur();
      const instant = format.parseInstant(time.value);
      if (instant === null) return refuse(`“${time.value.slice(0, 40)}” is no time. Write a number with a unit, such as 12.5 ms, or end.`);
      time.blur();
      void this.#player.seek(instant);
    });
  }

  /** Shows the state of the player. */
  update(): void {
    const player = this.#player;
    const { now, horizon, end } = player;
    const shown = format.instant(now);
    if (!this.#held && this.#time.value !== shown) {
      this.#time.value = shown;
      this.#time.style.setProperty("--letters", String(shown.length));
    }
    if (!this.#dragged) {
      this.#line.value = String(horizon > 0 ? Math.round((now / horizon) * STEPS) : 0);
      this.#line.disabled = horizon === 0;
      this.#line.setAttribute("aria-valuetext", end === null ? format.instant(now) : `${format.instant(now)} of ${format.duration(end)}`);
      write(this.#end, horizon === 0 ? "" : end === null ? `${format.duration(horizon)} …` : format.duration(end));
      this.#end.title = end === null ? "The end of the run is not known yet: the line grows with it" : "The end of the run";
    }
    this.#showWay();
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

  /** Shows the way to another time in place of the speed, while it is long. */
  #showWay(): void {
    const { seeking, share } = this.#player;
    const isLong = seeking !== null && performance.now() - seeking.since > PATIENCE_MS;
    this.#pace.hidden = isLong;
    this.#seek.hidden = !isLong;
    if (!isLong) return;
    this.#progress.value = share;
    write(this.#way, `to ${Number.isFinite(seeking.target) ? format.duration(seeking.target) : "the end"}, ${Math.floor(100 * share)} %`);
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
