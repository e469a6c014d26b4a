/** The opening while it is shown: its captions follow the simulated time, and time goes at the speed of each caption. */

import { captionAt, CAPTIONS, prefersStill } from "./opening.ts";
import { Captions, type Stage } from "./panels/captions.ts";
import type { Player } from "./run/player.ts";

export class Show {
  readonly #captions: Captions;
  readonly #player: Player;
  readonly #changed: (stage: Stage | null) => void;
  #stage: Stage | null = null;
  /** The speed that the captions have set; another one is the reader's, and stays. */
  #speed = CAPTIONS[0]!.speed;

  /** `changed` is told of each stage, or null when the opening is no longer shown. */
  constructor(player: Player, gallery: () => void, changed: (stage: Stage | null) => void) {
    this.#player = player;
    this.#changed = changed;
    this.#captions = new Captions({
      toggle: () => player.toggle(),
      again: () => void player.restart().then(() => this.run()),
      skip: () => {
        player.pause();
        this.#set("skipped");
      },
      seek: (instant) => void player.seek(instant),
      gallery,
      close: () => this.end(),
    });
  }

  get element(): HTMLElement {
    return this.#captions.element;
  }

  /** True until the opening is over or was skipped: the page then is as it opens for the first time. */
  get isUnderWay(): boolean {
    return this.#stage === "running" || this.#stage === "still";
  }

  /** Begins, at the start of the scene: moving, or still where the reader wants little motion. */
  begin(): void {
    if (prefersStill()) this.#set("still");
    else this.run();
  }

  /** Plays from the start. */
  run(): void {
    this.#player.speed = this.#speed = CAPTIONS[0]!.speed;
    this.#set("running");
    this.#player.play();
  }

  /** Follows the simulated time, once a frame. */
  update(): void {
    if (this.#stage === null) return;
    const { now, playing, ended } = this.#player;
    if (this.#stage === "running" && ended) this.#set("over");
    const { speed } = CAPTIONS[captionAt(now)]!;
    if (this.#stage === "running" && speed !== this.#speed) {
      if (this.#player.speed === this.#speed) this.#player.speed = speed;
      this.#speed = speed;
    }
    this.#captions.update(now, playing);
  }

  /** Shows the captions no longer. */
  end(): void {
    if (this.#stage === null) return;
    this.#captions.hide();
    this.#stage = null;
    this.#changed(null);
  }

  #set(stage: Stage): void {
    this.#stage = stage;
    this.#captions.show(stage);
    this.#changed(stage);
  }
}
