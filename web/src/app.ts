/** The page: what it shows (`View`), the two sides in the engine, and the parts of the page that show them. */

import { EngineError, type Catalog, type Engine, type FlowView } from "./engine/index.ts";
import { h, put } from "./dom.ts";
import * as format from "./format.ts";
import { scenes, type Scene } from "./gallery.ts";
import { listen } from "./keyboard.ts";
import { allLessons, type Lesson } from "./lessons.ts";
import { question } from "./limits.ts";
import { Editor } from "./panels/editor.ts";
import { Flows } from "./panels/flows.ts";
import { Guide } from "./panels/guide.ts";
import { Legend } from "./panels/legend.ts";
import { Notice } from "./panels/notice.ts";
import { Panel } from "./panels/panel.ts";
import { Playbar } from "./panels/playbar.ts";
import { helpDialog, Topbar } from "./panels/topbar.ts";
import type { Trail } from "./picture/network.ts";
import { Pane } from "./picture/pane.ts";
import type { Target } from "./picture/pick.ts";
import { handOver, needsOf, orderOf } from "./run/admission.ts";
import { Player } from "./run/player.ts";
import { Scout } from "./run/scout.ts";
import { Side, type Order } from "./run/side.ts";
import type { Start } from "./start.ts";
import { fromHash, SPEEDS, toHash, type Selection, type View } from "./state.ts";
import type { Theme } from "./style/theme.ts";

const NAMES = ["left", "right"] as const;
/** The run in which texts are checked while they are typed. */
const CHECK_RUN = 2;
/** The least that a full queue in the picture stands for: about 13 full frames of Ethernet. */
const LEAST_FULL = 20e3;
/** The fastest flows that are shown of a large network. */
const TOP_FLOWS = 5;
/** Speeds, in simulated us a second, with which small and large networks begin. */
const SPEED = { small: 20, large: 1000 };

/** Times in ms after which the page offers to stop the engine, and between the updates of parts that are read, not watched. */
const LATE = 1000;
const EVERY = { counts: 90, details: 250, hash: 1000, seeking: 120 };

export class App {
  readonly engine: Engine;
  readonly player: Player;
  readonly panes: readonly Pane[];
  sides: (Side | null)[] = [null, null];
  view: View;
  /** Frames that were drawn with a new instant, for measurements. */
  drawn = 0;
  readonly #theme: Theme;
  readonly #scenes: readonly Scene[];
  readonly #lessons: readonly Lesson[] = allLessons();
  readonly #topbar: Topbar;
  readonly #playbar: Playbar;
  readonly #editor: Editor;
  readonly #legend = new Legend();
  readonly #notice = new Notice();
  /** Says that the engine works, and offers to stop it. */
  readonly #busy = new Notice();
  readonly #panel: Panel;
  readonly #flows: Flows;
  readonly #guide: Guide;
  readonly #help = helpDialog();
  readonly #status = h("p", { class: "visually-hidden", role: "status" });
  /** The fast flows of large networks, by side and flow. */
  readonly #known = new Map<string, FlowView>();
  #trails: [Trail[], Trail[]] = [[], []];
  /** Bytes that the longest queue in the picture stands for, on both sides. */
  fullBytes = LEAST_FULL;
  /** Looks for the ends of the runs, for the line of time. */
  readonly #scout: Scout;
  #dirty = true;
  #fresh = true;
  /** True while details are asked for. */
  #asking = false;
  #opening = 0;
  #last = { drawn: 0, counts: 0, details: 0, hash: 0 };
  #written = "";

  constructor(root: HTMLElement, engine: Engine, catalog: Catalog, start: Start, theme: Theme) {
    this.engine = engine;
    this.#theme = theme;
    this.#scenes = scenes(start);
    this.view = this.#begin(this.#scenes[0]!);
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
    this.#guide = new Guide(
      this.#lessons,
      (lesson) => void this.#lesson(lesson),
      () => this.#learn(false),
    );
    this.#topbar = new Topbar(this.#scenes, catalog, {
      scenario: (name) => void this.open(this.#begin(this.#scene(name))),
      transport: (side, choice) => void this.#again({ [side]: choice }),
      seed: (seed) => void this.#again({ seed }),
      edit: () => this.#edit(),
      lessons: () => this.#learn(),
      theme: () => this.#theme.toggle(),
      help: () => this.#help.showModal(),
    });
    this.#topbar.hide({ lessons: this.#lessons.length === 0 });
    put(
      root,
      this.#topbar.element,
      this.#playbar.element,
      this.#editor.element,
      this.#notice.element,
      this.#busy.element,
      h(
        "div",
        { class: "scene" },
        this.#guide.element,
        h(
          "div",
          { class: "picture" },
          h("div", { class: "panes" }, ...this.panes.map((pane) => pane.element)),
          this.#legend.element,
          h("div", { class: "details" }, this.#panel.element, this.#flows.element),
        ),
      ),
      this.#help,
      this.#status,
    );
    theme.follow(() => (this.#dirty = true));
    this.#listen();
    const loop = (wall: number) => {
      this.#frame(wall);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }

  /** Opens what the address asks for, or the first scene. */
  async start(): Promise<void> {
    const { view: wanted, problem } = await fromHash(location.hash);
    await this.#startWith(wanted);
    if (problem !== null) {
      this.#notice.show(`The changed scenario of this link is not shown: ${problem}. The scenario is shown without its changes.`, [["Close", () => this.#notice.hide()]], true);
    }
  }

  async #startWith(wanted: Partial<View>): Promise<void> {
    const lesson = this.#lessons.find((one) => one.name === wanted.lesson);
    if (lesson && wanted.scenario === undefined) return this.#lesson(lesson);
    const scene = this.#scene(wanted.scenario ?? this.view.scenario);
    if (lesson) this.#learn(true);
    return this.open({ ...this.#begin(scene), ...wanted, scenario: scene.name }, wanted.speed === undefined);
  }

  #scene(name: string): Scene {
    return this.#scenes.find((one) => one.name === name) ?? this.#scenes[0]!;
  }

  /** The view with which a scene begins. */
  #begin(scene: Scene): View {
    const choice = (index: number) => (scene.sides[index] ? (scene.sides[index].transport ?? "own") : "none");
    return { scenario: scene.name, text: null, left: choice(0), right: choice(1), seed: null, now: 0, speed: SPEED.small, selection: null, lesson: null };
  }

  /** Opens both sides anew and goes to the view's instant. What needs much is asked about first, unless that is `agreed`. */
  async open(view: View, findSpeed = true, agreed = false): Promise<void> {
    const turn = ++this.#opening;
    const isOld = () => turn !== this.#opening;
    this.view = view;
    this.#known.clear();
    this.fullBytes = LEAST_FULL;
    this.player.take([]);
    this.#scout.stop();
    // An estimate ends the run of its number, so nothing asks about the sides before.
    this.sides = [null, null];
    this.#notice.hide();
    const scene = this.#scene(view.scenario);
    const choices = [view.left, view.right];
    const orders = choices.map((choice, index) => (choice === "none" ? null : orderOf(scene, view, index, choice)));
    const errors: unknown[] = [];
    const tried = <T>(work: (order: Order, index: number) => Promise<T>) =>
      Promise.all(
        orders.map((order, index) =>
          order &&
          work(order, index).catch((reason: unknown) => {
            errors.push(reason);
            orders[index] = null;
            if (!isOld()) this.#refuse(index, reason);
            return null;
          }),
        ),
      );
    this.panes.forEach((pane, index) => (pane.element.hidden = orders[index] === null));
    const handedOver = handOver(this.engine, scene.files);
    const needs = await tried((order, index) => handedOver.then(() => needsOf(this.engine, index, order)));
    if (isOld()) return;
    const asked = agreed ? null : question(needs.filter((one) => one !== null), view.now);
    const opened = asked === null ? await tried((order, index) => Side.open(this.engine, index, order)) : [null, null];
    if (isOld()) return;
    const expected = Math.max(0, ...needs.map((one) => (one?.simulated_s ?? 0) * 1e12));
    this.#showSides(scene, view, opened, findSpeed, expected);
    const error = errors.length > 0 ? format.message(errors[0]) : null;
    this.#editor.error(error);
    if (error !== null && view.text !== null) this.#edit(true);
    if (asked !== null) return this.#ask(asked, () => void this.open(view, findSpeed, true));
    void this.#scout.find(opened, needs);
    if (view.now > 0) await this.player.seek(view.now, false);
    if (view.selection) this.select(view.selection);
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
    this.#flows.show(opened, opened.map((_, index) => this.#expected(scene, view, index)));
    this.#panel.ports(opened.find((side) => side !== null)?.layout.ports ?? []);
    this.#showView();
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

  /** The result that a side should have, if it is simulated as it was then. */
  #expected(scene: Scene, view: View, index: number): Scene["sides"][number]["expected"] {
    const side = scene.sides[index];
    const choice = index === 0 ? view.left : view.right;
    const same = side && view.text === null && view.seed === null && choice === (side.transport ?? "own");
    return same ? side.expected : null;
  }

  /** Opens the present scene with changes, at the start. */
  #again(changes: Partial<View>): Promise<void> {
    return this.open({ ...this.view, selection: null, ...changes, now: 0, speed: this.player.speed, lesson: null }, false);
  }

  async #lesson(lesson: Lesson): Promise<void> {
    const scene = this.#scene(`lessons/${lesson.scenario}`);
    const begin = this.#begin(scene);
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
    const watched = this.sides[0]?.layout.ports.find((port) => port.name === lesson.watch);
    if (watched) this.select({ side: "left", what: "port", id: watched.id });
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
    const own = this.#scene(this.view.scenario).sides[0]!.text;
    void this.#again({ text: text === own ? null : text });
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
      this.#panel.clear();
      this.#trails = [[], []];
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
      e: () => this.#edit(),
      l: () => this.#lessons.length > 0 && this.#learn(),
      d: () => this.#theme.toggle(),
      Escape: () => (this.player.seeking ? this.player.cancel() : this.#editor.element.hidden ? this.select(null) : this.#edit(false)),
    });
    addEventListener("hashchange", () => {
      if (location.hash !== this.#written) void this.start();
    });
  }

  /** One frame of the page: goes on, draws if something changed, and keeps the rest up to date at its own pace. */
  #frame(wall: number): void {
    this.player.tick(wall);
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
      void this.player.between(() => this.#details()).finally(() => (this.#asking = false));
    }
    this.#offerStop(wall);
    if (wall - this.#last.hash > EVERY.hash) {
      this.#last.hash = wall;
      void this.#writeHash();
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
    const { colors } = this.#theme;
    for (const side of this.sides) {
      if (!side) continue;
      const { queueBytes } = side.frame.ports;
      for (let port = 0; port < queueBytes.length; port++) {
        if (queueBytes[port]! > this.fullBytes) this.fullBytes = format.niceCeiling(queueBytes[port]!);
      }
    }
    const selection = this.view.selection;
    this.panes.forEach((pane, index) => {
      const flow = selection?.what === "flow" && NAMES[index] === selection.side ? selection.id : null;
      pane.draw({ colors, fullBytes: this.fullBytes, flow, trails: this.#trails[index]! }, wall);
    });
    const large = this.sides.some((side) => side?.isLarge);
    const withCredits = this.sides.some((side) => side?.layout.ports.some((port) => port.credit_bps !== null));
    this.#legend.show({ large, fullBytes: this.fullBytes, withCredits }, colors);
  }

  /** Asks for what is read beside the picture: finished flows, what is selected, the fastest flows. */
  async #details(): Promise<void> {
    const { colors } = this.#theme;
    const before = this.sides;
    await Promise.all(before.map((side) => side?.collect()));
    if (before !== this.sides) return;
    this.#flows.update();
    for (const pane of this.panes) pane.count();
    const trails: [Trail[], Trail[]] = [[], []];
    const { selection } = this.view;
    if (selection) {
      await this.#panel.show(selection, this.sides, colors);
      const trail: Trail = { ports: this.#panel.path, color: colors.dark ? "#58646f" : "#b6c2cd", width: 9 };
      NAMES.forEach((name, index) => {
        if (selection.what === "port" || name === selection.side) trails[index]!.push(trail);
      });
    }
    for (const [index, side] of this.sides.entries()) {
      if (side?.isLarge) trails[index]!.push(...(await this.#topFlows(index, side)));
    }
    this.#trails = trails;
    this.#dirty = true;
  }

  /** The fastest flows of a large network: their list in the pane, and their paths. */
  async #topFlows(index: number, side: Side): Promise<Trail[]> {
    const { colors } = this.#theme;
    const trails: Trail[] = [];
    const lines = [];
    for (const [rank, { flow, bps }] of side.rates.top(TOP_FLOWS).entries()) {
      const key = `${index} ${flow}`;
      let view = this.#known.get(key);
      if (!view) {
        view = await side.engine.call<FlowView>({ op: "flow", run: side.run, flow });
        this.#known.set(key, view);
      }
      const color = colors.series[(rank * 2 + 1) % colors.series.length]!;
      trails.push({ ports: view.path, color, width: 2.4 });
      const name = (node: number) => side.layout.nodes[node]?.name ?? "?";
      const select = () => this.select({ side: NAMES[index]!, what: "flow", id: flow });
      lines.push({ text: `flow ${flow}, ${name(view.source)} → ${name(view.destination)}: ${format.rate(bps)}`, color, select });
    }
    this.panes[index]!.list(lines);
    return trails;
  }

  #showView(): void {
    const side = this.sides.find((one) => one !== null);
    const seed = side?.layout.seed ?? null;
    this.#topbar.show(this.view, !this.#editor.element.hidden, !this.#guide.element.hidden, seed, this.#scene(this.view.scenario).title);
  }

  async #writeHash(): Promise<void> {
    if (this.player.working && !this.player.playing) return;
    if (this.sides.every((side) => side === null)) return;
    this.view.now = this.player.ended ? Number.POSITIVE_INFINITY : this.player.now;
    const hash = await toHash(this.view);
    if (hash === this.#written) return;
    this.#written = hash;
    history.replaceState(null, "", hash);
  }
}
