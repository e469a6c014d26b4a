/** What joins sliders and runs: it reads the sliders from the scenario, and runs both sides again when one moves. */

import type { Engine } from "./engine/index.ts";
import type { Scene } from "./gallery.ts";
import { knobsOf, turned, type Given, type Knob } from "./knobs.ts";
import { Sliders } from "./panels/sliders.ts";
import type { Player } from "./run/player.ts";
import type { Side } from "./run/side.ts";
import { Tuner } from "./run/tuner.ts";
import type { View } from "./state.ts";

export class Tuning {
  readonly #engine: Engine;
  readonly #sliders: Sliders;
  readonly #tuner: Tuner;
  /** The scenarios that were shown unchanged, with all defaults filled in, by scene and transports. */
  readonly #defaults = new Map<string, readonly string[]>();
  #scene: Scene | null = null;
  #given: Given | null = null;
  #turn = 0;

  /** `run` opens both sides with a text, brings them to an instant in ps, and says whether they are there. */
  constructor(engine: Engine, player: Player, run: (text: string, instant: number) => Promise<boolean>) {
    this.#engine = engine;
    this.#tuner = new Tuner(player, run);
    this.#sliders = new Sliders(
      (knob, index) => this.#move(knob, index),
      () => this.#given && void this.#tuner.change(this.#given.original),
    );
  }

  get element(): HTMLElement {
    return this.#sliders.element;
  }

  /** Shows the sliders of what both sides simulate. */
  async show(scene: Scene, view: View, sides: readonly (Side | null)[]): Promise<void> {
    const turn = ++this.#turn;
    const original = scene.sides[0]!.text;
    const text = view.text ?? original;
    const shown = sides.filter((side) => side !== null);
    // Two runs that are repeated have two texts, of which one slider could change only one.
    const hasTwoTexts = view.text === null && scene.sides.some((side) => side.text !== original);
    if (hasTwoTexts) return this.#take(scene, null);
    if (shown.length === 0) {
      // A text that is refused has no defaults to tell. Its sliders stay, so that the reader can move them back.
      return this.#take(scene, this.#scene === scene && this.#given ? { ...this.#given, text } : null);
    }
    const asked = shown.map(async ({ run }) => (await this.#engine.call<{ text: string }>({ op: "resolved", run })).text);
    const resolved = await Promise.all(asked).catch(() => []);
    if (turn !== this.#turn) return;
    const key = `${scene.name} ${view.left} ${view.right}`;
    if (text === original) this.#defaults.set(key, resolved);
    const set = scene.sides.flatMap((side) => side.set.map(([name]) => name));
    this.#take(scene, { text, original, resolved, defaults: this.#defaults.get(key) ?? [], set });
  }

  #take(scene: Scene, given: Given | null): void {
    this.#scene = scene;
    this.#given = given;
    // What the reader has moved meanwhile comes next, and the sliders follow then.
    if (this.#tuner.wanted !== null) return;
    this.#sliders.show(given ? knobsOf(given) : [], given !== null && given.text !== given.original);
  }

  #move(knob: Knob, index: number): void {
    if (!this.#given) return;
    const text = this.#tuner.wanted ?? this.#given.text;
    void this.#tuner.change(turned({ text, original: this.#given.original }, knob, index));
  }
}
