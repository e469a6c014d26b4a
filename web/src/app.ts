/** The page: what it shows (`View`), the two sides in the engine, and the parts of the page that show them. */

import { Address } from "./address.ts";
import { EngineError, type Catalog, type Engine } from "./engine/index.ts";
import { h } from "./dom.ts";
import { Drawing, NAMES } from "./drawing.ts";
import * as format from "./format.ts";
import { foreignScene, groups, ownGroups, scenes, type Card, type Scene } from "./gallery.ts";
import { Handout } from "./handout.ts";
import { listen } from "./keyboard.ts";
import { arrange } from "./layout.ts";
import { allLessons, type Lesson } from "./lessons.ts";
import { OPENING } from "./opening.ts";
import { Editor } from "./panels/editor.ts";
import { Flows } from "./panels/flows.ts";
import { GalleryDialog } from "./panels/gallery.ts";
import { Guide } from "./panels/guide.ts";
import { Notice } from "./panels/notice.ts";
import { Panel } from "./panels/panel.ts";
import { Playbar } from "./panels/playbar.ts";
import { helpDialog, Topbar } from "./panels/topbar.ts";
import { Pane } from "./picture/pane.ts";
import type { Target } from "./picture/pick.ts";
import { still } from "./picture/still.ts";
import { needsOf, orderOf } from "./run/admission.ts";
import { choicesOf, expectedOf, launch } from "./run/launch.ts";
import { Player } from "./run/player.ts";
import { Scout } from "./run/scout.ts";
import type { Side } from "./run/side.ts";
import { Show } from "./show.ts";
import type { Start } from "./start.ts";
import { beginningOf, SPEED, SPEEDS, type Selection, type View } from "./state.ts";
import type { Theme } from "./style/theme.ts";
import { Tuning } from "./tuning.ts";

/** The run in which texts are checked while they are typed. */
const CHECK_RUN = 2;

/** Times in ms after which the page offers to stop the engine, and between the updates of parts that are read, not watched. */
const LATE = 1000;
const EVERY = { counts: 90, details: 250, hash: 1000, seeking: 120 };
/** How long in ms the picture stays as it was while both sides run again after a slider has moved. */
const HOLD_MS = 300;

export class App {
  readonly engine: Engine;
  readonly player: Player;
  readonly panes: readonly Pane[];
  sides: (Side | null)[] = [null, null];
  view: View;
  /** Frames that were drawn with a new instant, for measurements. */
  drawn = 0;
  readonly #root: HTMLElement;
  readonly #theme: Theme;
  readonly #scenes: readonly Scene[];
  /** A scene from a file or a link, which the page did not bring along. */
  #foreign: Scene | null = null;
  readonly #isOwn: boolean;
  readonly #lessons: readonly Lesson[];
  readonly #address = new Address();
  readonly #drawing: Drawing;
  readonly #topbar: Topbar;
  readonly #playbar: Playbar;
  readonly #editor: Editor;
  readonly #notice = new Notice();
  /** Says that the engine works, and offers to stop it. */
  readonly #busy = new Notice();
  readonly #panel: Panel;
  readonly #flows: Flows;
  readonly #guide: Guide;
  readonly #gallery: GalleryDialog;
  readonly #show: Show;
  readonly #tuning: Tuning;
  readonly #handout: Handout;
  readonly #help = helpDialog();
  readonly #status = h("p", { class: "visually-hidden", role: "status" });
  /** Looks for the ends of the runs, for the line of time. */
  readonly #scout: Scout;
  #dirty = true;
  #fresh = true;
  /** True while details are asked for. */
  #asking = false;
  #opening = 0;
  /** The time on the clock of frames up to which the picture stays as it is. */
  #heldUntil = 0;
  #last = { drawn: 0, counts: 0, details: 0, hash: 0 };

  constructor(root: HTMLElement, engine: Engine, catalog: Catalog, start: Start, theme: Theme) {
    this.engine = engine;
    this.#root = root;
    this.#theme = theme;
    this.#scenes = scenes(start);
    this.#isOwn = start.scenarios.length > 0;
    this.#lessons = this.#isOwn ? [] : allLessons();
    this.view = beginningOf(this.#scenes[0]!);
    this.player = new Player({
      changed: () => (this.#dirty = this.#fresh = true),
      failed: (error) => this.#failed(error),
    });
    const leisure = () => (this.player.seeking || this.player.reached !== null ? "none" : this.player.playing ? "some" : "all");
    this.#scout = new Scout(engine, leisure, () => {
      this.#dirty = true;
      this.player.settle();
    });
    this.#playbar = new Playbar(this.player, (speed) => this.#setSpeed(speed));
    this.panes = NAMES.map((name, index) => new Pane(`${name} side`, (target) => this.#pick(index, target)));
    this.#editor = new Editor(
      (text) => this.#check(text),
      (text) => this.#runText(text),
      () => this.#edit(false),
    );
    this.#panel = new Panel(
      () => this.select(null),
      (port) => this.select({ side: this.sides[0] ? "left" : "right", what: "port", id: port }),
    );
    this.#flows = new Flows((side, flow) => this.select({ side: NAMES[side]!, what: "flow", id: flow }));
    this.#drawing = new Drawing({ theme, panes: this.panes, panel: this.#panel, flows: this.#flows, select: (selection) => this.select(selection) });
    this.#guide = new Guide(
      this.#lessons,
      (lesson) => void this.#lesson(lesson),
      () => this.#learn(false),
    );
    const shelf = this.#isOwn ? ownGroups(this.#scenes) : groups(this.#scenes, this.#lessons);
    this.#gallery = new GalleryDialog(shelf, engine, theme, start.websocket === null, (card) => void this.#openCard(card));
    this.#show = new Show(this.player, () => this.#choose(), (stage) => {
      this.#root.dataset["opening"] = stage ?? "none";
      this.#dirty = true;
    });
    this.#tuning = new Tuning(engine, this.player, (text, instant) => this.#retune(text, instant));
    this.#handout = new Handout(
      {
        shown: () => {
          const scene = this.#scene(this.view.scenario);
          return { name: scene.title, view: this.view, text: this.view.text ?? scene.sides[0]!.text, sides: this.sides };
        },
        link: () => this.#address.link({ ...this.view, now: this.#instant, speed: this.player.speed }),
        picture: () => still(this.panes, `${this.#scene(this.view.scenario).title}, ${format.instant(this.player.now)}`, this.#theme.colors),
        open: (name, text) => void this.open({ ...beginningOf(this.#scene(name, text)), text }),
      },
      this.#notice,
    );
    this.#topbar = new Topbar(catalog, this.#handout.exports, {
      gallery: () => this.#choose(),
      transport: (side, choice) => void this.#again({ [side]: choice }),
      seed: (seed) => void this.#again({ seed }),
      edit: () => this.#edit(),
      file: () => this.#handout.choose(),
      share: () => void this.#handout.share(),
      theme: () => this.#theme.toggle(),
      help: () => this.#help.showModal(),
    });
    arrange(root, {
      above: [this.#topbar, this.#playbar, this.#editor, this.#notice, this.#busy, this.#show, this.#tuning].map(({ element }) => element),
      guide: this.#guide.element,
      panes: this.panes.map((pane) => pane.element),
      legend: this.#drawing.legend.element,
      details: [this.#panel.element, this.#flows.element],
      aside: [this.#gallery.element, this.#help, this.#status],
    });
    theme.follow(() => (this.#dirty = true));
    this.#listen();
    const loop = (wall: number) => {
      this.#frame(wall);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }

  /** Bytes that the longest queue in the picture stands for, for tests. */
  get fullBytes(): number {
    return this.#drawing.fullBytes;
  }

  /** Opens what the address asks for; else the opening, or the first scene of `clearway view`. */
  async start(): Promise<void> {
    const asked = await this.#address.read();
    if (asked === null && !this.#isOwn) return this.#open();
    const { view: wanted, problem } = asked ?? { view: {}, problem: null };
    await this.#startWith(wanted);
    if (problem !== null) {
      this.#notice.show(`The changed scenario of this link is not shown: ${problem}. The scenario is shown without its changes.`, [["Close", () => this.#notice.hide()]], true);
    }
  }

  async #startWith(wanted: Partial<View>): Promise<void> {
    const lesson = this.#lessons.find((one) => one.name === wanted.lesson);
    if (lesson && wanted.scenario === undefined) return this.#lesson(lesson);
    const scene = this.#scene(wanted.scenario ?? this.view.scenario, wanted.text ?? null);
    if (lesson) this.#learn(true);
    await this.open({ ...beginningOf(scene), ...wanted, scenario: scene.name }, wanted.speed === undefined);
  }

  /** Shows the opening. */
  async #open(): Promise<void> {
    const { scenario, left, right, watch } = OPENING;
    const view = { ...beginningOf(this.#scene(scenario)), left, right };
    if (!(await this.#openSides(view, false, false))) return;
    this.#watch(watch);
    this.#show.begin();
  }

  /** A scene by its name. A text under a name that the page does not know is a scene of its own; without one it is the opening's. */
  #scene(name: string, text: string | null = null): Scene {
    const known = this.#scenes.find((one) => one.name === name) ?? (this.#foreign?.name === name && text === null ? this.#foreign : null);
    if (known) return known;
    if (text !== null) return (this.#foreign = foreignScene(name, text));
    return this.#scenes.find((one) => one.name === OPENING.scenario) ?? this.#scenes[0]!;
  }

  /** The instant of the view: infinite at the end of the run. */
  get #instant(): number {
    return this.player.ended ? Number.POSITIVE_INFINITY : this.player.now;
  }

  /** Opens both sides anew and goes to the view's instant. What needs much is asked about first, unless that is `agreed`. */
  async open(view: View, findSpeed = true, agreed = false): Promise<void> {
    this.#show.end();
    await this.#openSides(view, findSpeed, agreed);
  }

  /** Opens both sides, and says whether they are there: another view may have come meanwhile. */
  async #openSides(view: View, findSpeed: boolean, agreed: boolean): Promise<boolean> {
    const turn = ++this.#opening;
    const isOld = () => turn !== this.#opening;
    this.view = view;
    this.#drawing.reset();
    this.player.take([]);
    this.#scout.stop();
    // An estimate ends the run of its number, so nothing asks about the sides before.
    this.sides = [null, null];
    this.#notice.hide();
    const scene = this.#scene(view.scenario);
    this.panes.forEach((pane, index) => (pane.element.hidden = choicesOf(view)[index] === "none"));
    const launched = await launch(this.engine, scene, view, agreed, (index, reason) => this.#refuse(index, reason), isOld);
    if (launched === null) return false;
    const { sides, needs, question, error } = launched;
    const expected = Math.max(0, ...needs.map((one) => (one?.simulated_s ?? 0) * 1e12));
    this.#showSides(scene, view, sides, findSpeed, expected);
    this.#editor.error(error === null ? null : format.message(error));
    if (error !== null && view.text !== null) this.#edit(true);
    if (question !== null) {
      this.#ask(question, () => void this.open(view, findSpeed, true));
      return false;
    }
    void this.#scout.find(sides, needs);
    if (view.now > 0) await this.player.seek(view.now, false);
    if (isOld()) return false;
    if (view.selection) this.select(view.selection);
    return true;
  }

  /** Shows sides that were opened, or that there are none. By its estimate the run goes on for `expected` ps. */
  #showSides(scene: Scene, view: View, opened: (Side | null)[], findSpeed: boolean, expected: number): void {
    this.sides = opened;
    opened.forEach((side, index) => side && this.panes[index]!.show(side));
    const large = opened.some((side) => side?.isLarge);
    if (findSpeed && large && view.speed === SPEED.small) view.speed = SPEED.large;
    this.player.take(opened.filter((side) => side !== null), expected);
    this.player.speed = view.speed;
    this.#editor.show(view.text ?? scene.sides[0]!.text);
    this.#flows.show(opened, opened.map((_, index) => expectedOf(scene, view, index)));
    this.#panel.ports(opened.find((side) => side !== null)?.layout.ports ?? []);
    this.#showView();
    void this.#tuning.show(scene, view, opened);
    this.#dirty = this.#fresh = true;
    document.title = `${scene.title} · Clearway`;
  }

  /** Says in a pane why its side is not shown. */
  #refuse(index: number, reason: unknown): void {
    this.panes[index]!.show(null);
    this.panes[index]!.say(format.message(reason), true);
  }

  /** Asks before a scenario is simulated that needs much. */
  #ask(words: string, run: () => void): void {
    for (const pane of this.panes) {
      pane.show(null);
      pane.say("Nothing is simulated yet.");
    }
    this.#notice.show(`${words} Simulate it?`, [
      ["Simulate it", run],
      ["Change the scenario", () => this.#edit(true)],
    ]);
  }

  /** Opens the present scene with changes, at the start. */
  #again(changes: Partial<View>): Promise<void> {
    return this.open({ ...this.view, selection: null, ...changes, now: 0, speed: this.player.speed, lesson: null }, false);
  }

  /** Opens both sides with another text at an instant, with the port of the same name selected. */
  async #retune(text: string, instant: number): Promise<boolean> {
    this.#show.end();
    const { selection } = this.view;
    const watched = selection?.what === "port" ? this.sides.find((side) => side !== null)?.layout.ports[selection.id]?.name : undefined;
    this.#heldUntil = performance.now() + HOLD_MS;
    const view = { ...this.view, text: this.#changed(text), now: instant, speed: this.player.speed, selection: null, lesson: null };
    const isThere = await this.#openSides(view, false, false);
    this.#heldUntil = 0;
    if (isThere && watched !== undefined) this.#watch(watched);
    return isThere;
  }

  /** The text of a view that shows this one: null for the scene's own, but for a scene that only links bring along. */
  #changed(text: string): string | null {
    const scene = this.#scene(this.view.scenario);
    return scene !== this.#foreign && text === scene.sides[0]!.text ? null : text;
  }

  /** Selects a port by its name, if there is one of it. */
  #watch(name: string): void {
    const side = this.sides[0] ? 0 : 1;
    const port = this.sides[side]?.layout.ports.find((one) => one.name === name);
    if (port) this.select({ side: NAMES[side], what: "port", id: port.id });
  }

  async #openCard({ lesson, scene }: Card): Promise<void> {
    if (lesson) return this.#lesson(lesson);
    this.#learn(false);
    await this.open(beginningOf(scene));
  }

  /** Opens the gallery; what plays behind it pauses. */
  #choose(): void {
    if (this.player.playing) this.player.pause();
    this.#gallery.show(this.view.scenario, this.view.lesson);
  }

  async #lesson(lesson: Lesson): Promise<void> {
    const scene = this.#scene(`lessons/${lesson.scenario}`);
    const begin = beginningOf(scene);
    this.#guide.element.hidden = false;
    this.#guide.show(lesson.name);
    await this.open(
      {
        ...begin,
        left: lesson.left ?? begin.left,
        right: lesson.right ?? (lesson.left === null ? begin.right : "none"),
        now: format.parseTime(lesson.start) ?? 0,
        speed: lesson.speed ?? begin.speed,
        lesson: lesson.name,
      },
      lesson.speed === null,
    );
    if (lesson.watch !== null) this.#watch(lesson.watch);
  }

  #learn(show = this.#guide.element.hidden): void {
    this.#guide.element.hidden = !show;
    if (show) this.#guide.show(this.view.lesson);
    this.#showView();
  }

  #edit(show = this.#editor.element.hidden): void {
    this.#editor.element.hidden = !show;
    if (show) this.#editor.focus();
    this.#showView();
  }

  async #check(text: string): Promise<string | null> {
    const order = orderOf(this.#scene(this.view.scenario), { ...this.view, text }, 0, this.view.left);
    try {
      await needsOf(this.engine, CHECK_RUN, order);
      return null;
    } catch (error) {
      return format.message(error);
    }
  }

  #runText(text: string): void {
    void this.#again({ text: this.#changed(text) });
  }

  #setSpeed(speed: number): void {
    this.player.speed = Math.min(SPEEDS.most, Math.max(SPEEDS.least, speed));
    this.view.speed = this.player.speed;
    this.#dirty = true;
  }

  #pick(index: number, target: Target | null): void {
    const side = NAMES[index]!;
    if (target?.what === "packet" && target.flow !== null) this.select({ side, what: "flow", id: target.flow });
    else if (target?.what === "port" || target?.what === "packet") this.select({ side, what: "port", id: target.port });
    else this.select(null);
  }

  /** Selects a port or a flow, or nothing. */
  select(selection: Selection | null): void {
    this.view.selection = selection;
    if (selection) {
      for (const side of this.sides) {
        if (selection.what === "port") side?.history.port(selection.id);
        else side?.history.flow(selection.id);
      }
    } else {
      this.#drawing.deselect();
    }
    this.#last.details = 0;
    this.#dirty = this.#fresh = true;
  }

  #failed(error: unknown): void {
    const text = format.message(error);
    const fatal = error instanceof EngineError && error.isFatal;
    for (const pane of this.panes) if (!pane.element.hidden) pane.say(text, true);
    this.#status.textContent = text;
    if (!fatal) return;
    // The runs are gone with the engine: the same view is opened anew, at its start and standing still.
    const again = h("button", { type: "button", class: "primary", onclick: () => void this.open({ ...this.view, now: 0, selection: null }) }, "Start again");
    for (const pane of this.panes) pane.offer(again.cloneNode(true) as HTMLButtonElement, () => again.click());
  }

  #listen(): void {
    listen({
      Space: () => this.player.toggle(),
      ArrowRight: () => void this.player.step("time"),
      "Shift+ArrowRight": () => void this.player.step("event"),
      ArrowLeft: () => void this.player.back(),
      Home: () => void this.player.restart(),
      "+": () => this.#setSpeed(this.player.speed * 1.5),
      "=": () => this.#setSpeed(this.player.speed * 1.5),
      "-": () => this.#setSpeed(this.player.speed / 1.5),
      "?": () => this.#help.showModal(),
      g: () => this.#choose(),
      e: () => this.#edit(),
      o: () => this.#handout.choose(),
      s: () => void this.#handout.share(),
      l: () => this.#lessons.length > 0 && this.#learn(),
      d: () => this.#theme.toggle(),
      Escape: () => (this.player.seeking ? this.player.cancel() : this.#editor.element.hidden ? this.select(null) : this.#edit(false)),
    });
    this.#address.follow(() => void this.start());
  }

  /** One frame of the page: goes on, draws if something changed, and keeps the rest up to date at its own pace. */
  #frame(wall: number): void {
    this.player.tick(wall);
    this.#show.update();
    if (wall < this.#heldUntil) return;
    const isSeeking = this.player.seeking !== null;
    if (isSeeking && wall - this.#last.drawn < EVERY.seeking) return;
    const drawNow = this.#dirty || this.panes.some((pane) => pane.isMoving);
    if (this.#dirty || isSeeking) this.#playbar.update();
    if (drawNow) this.#draw(wall);
    if (this.#fresh && wall - this.#last.counts > EVERY.counts) {
      this.#last.counts = wall;
      for (const pane of this.panes) pane.count();
    }
    if (this.#fresh && !this.#asking && wall - this.#last.details > EVERY.details && this.sides.some((side) => side !== null)) {
      this.#last.details = wall;
      this.#fresh = this.player.playing;
      this.#asking = true;
      const { sides } = this;
      const details = () => this.#drawing.details(sides, this.view.selection, () => sides !== this.sides);
      void this.player.between(details).finally(() => {
        this.#asking = false;
        this.#dirty = true;
      });
    }
    this.#offerStop(wall);
    if (wall - this.#last.hash > EVERY.hash) {
      this.#last.hash = wall;
      void this.#writeAddress();
    }
  }

  /** Offers to stop the engine while an answer is long due, and no longer. */
  #offerStop(wall: number): void {
    const since = this.engine.busySince;
    const isLate = since !== null && wall - since > LATE;
    if (!isLate) this.#busy.hide();
    else if (this.#busy.element.hidden) this.#busy.show("The engine has worked on an answer for more than a second.", [["Stop", () => this.engine.stop()]]);
  }

  #draw(wall: number): void {
    if (this.#dirty) this.drawn += 1;
    this.#last.drawn = wall;
    this.#dirty = false;
    this.#drawing.draw(this.sides, this.view.selection, wall);
  }

  #showView(): void {
    const side = this.sides.find((one) => one !== null);
    const lesson = this.#lessons.find((one) => one.name === this.view.lesson);
    const scene = this.#scene(this.view.scenario);
    const isChanged = (this.view.text ?? scene.sides[0]!.text) !== scene.sides[0]!.text;
    const title = `${lesson?.title ?? scene.title}${isChanged ? ", changed" : ""}`;
    this.#topbar.show(this.view, !this.#editor.element.hidden, side?.layout.seed ?? null, title);
  }

  /** Keeps the address up to date, but for the opening: whoever loads the page again sees that again. */
  async #writeAddress(): Promise<void> {
    if (this.#show.isUnderWay || (this.player.working && !this.player.playing)) return;
    if (this.sides.every((side) => side === null)) return;
    [this.view.now, this.view.speed] = [this.#instant, this.player.speed];
    await this.#address.write(this.view);
  }
}
