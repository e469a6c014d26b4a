/**
 * A pane: the picture of one side, its title, its counts, and the hint at the pointer. Links, nodes and what moves have a
 * canvas each, since they change at different times.
 */

import { h, put, write } from "../dom.ts";
import * as format from "../format.ts";
import type { Counters, Side } from "../run/side.ts";
import { colorOf, type Colors } from "../style/colors.ts";
import { geometry, type Geometry } from "./geometry.ts";
import { looksOf, type Look } from "./marks.ts";
import { drawLanes, drawNames, drawNodes, drawTrails, drawUse, type Trail } from "./network.ts";
import { describe, pick, type Target } from "./pick.ts";
import { drawLimits, Flashes, drawPackets, drawPauses, drawQueues, type DrawnQueue } from "./traffic.ts";

/** The counts beside each pane, in the order in which they are shown. */
const COUNTS: readonly [keyof Counters | "flows", string, string][] = [
  ["flows", "flows", "Flows that have finished, and flows that have started"],
  ["queued", "queued", "Bytes in all queues now"],
  ["drops", "drops", "Packets lost, but for credits"],
  ["trims", "trims", "Packets that switches with full queues cut to their headers"],
  ["marks", "marks", "Packets marked by ECN"],
  ["credits", "credits", "Credits that hosts have sent"],
  ["creditDrops", "credit drops", "Credits that ports dropped: too many for the data that may follow"],
  ["pauses", "pauses", "Pause frames sent (PFC)"],
  ["cnps", "CNPs", "Congestion notifications sent"],
];

/** Rates of the links of large networks are drawn anew after this time; they are averages and change slowly. */
const RATES_MS = 80;

/** What a pane is told to draw beside its side. */
export interface Wishes {
  readonly colors: Colors;
  /** Bytes that the longest queue in the picture stands for. */
  readonly fullBytes: number;
  /** The flow whose packets stand out, or null. */
  readonly flow: number | null;
  readonly trails: readonly Trail[];
}

export class Pane {
  readonly element: HTMLElement;
  readonly #stage = h("div", { class: "stage" });
  readonly #links = h("canvas", { "aria-hidden": "true" });
  readonly #nodes = h("canvas", { "aria-hidden": "true" });
  readonly #upper = h("canvas", { role: "img", tabIndex: 0 });
  readonly #hint = h("div", { class: "hint", hidden: true });
  readonly #note = h("div", { class: "note", hidden: true, role: "status" });
  readonly #title = h("span", { class: "transport" });
  readonly #dot = h("span", { class: "dot" });
  readonly #state = h("span", { class: "state" });
  readonly #remarks = h("ul", { class: "remarks", "aria-label": "Warnings", hidden: true });
  #remarked = "";
  readonly #top = h("ol", { class: "top-flows", hidden: true });
  readonly #counts = new Map<string, { term: HTMLElement; value: HTMLElement }>();
  readonly #flashes = new Flashes();
  #side: Side | null = null;
  #shape: Geometry | null = null;
  #looks: Look[] = [];
  #pointer: { x: number; y: number } | null = null;
  /** True if the pointer has moved since the last picture. */
  #pointed = false;
  /** What the canvases of links and of nodes show, and when links were drawn. */
  #drawnLinks = "";
  #drawnNodes = "";
  #linksAt = 0;
  /** What was drawn of queues in the last picture. */
  drawn: DrawnQueue[] = [];

  constructor(label: string, onpick: (target: Target | null) => void) {
    const list = h("dl", { class: "counts" });
    for (const [name, term, title] of COUNTS) {
      const value = h("dd", { "data-count": name }, "0");
      list.append(h("div", { title }, h("dt", {}, term), value));
      this.#counts.set(name, { term: value.parentElement!, value });
    }
    this.#stage.append(this.#links, this.#nodes, this.#upper, this.#hint, this.#note);
    this.element = h(
      "section",
      { class: "pane", "aria-label": label },
      h("h2", {}, this.#dot, this.#title, this.#state),
      this.#remarks,
      this.#stage,
      this.#top,
      list,
    );
    new ResizeObserver(() => this.#reshape()).observe(this.#stage);
    const point = (pointer: { x: number; y: number } | null) => {
      this.#pointer = pointer;
      this.#pointed = true;
    };
    this.#upper.addEventListener("pointermove", (event) => point({ x: event.offsetX, y: event.offsetY }));
    this.#upper.addEventListener("pointerleave", () => point(null));
    this.#upper.addEventListener("click", (event) => {
      const reach = matchMedia("(pointer: coarse)").matches ? 16 : 7;
      onpick(this.at(event.offsetX, event.offsetY, reach));
    });
  }

  /** Shows a side, or nothing. */
  show(side: Side | null): void {
    this.#side = side;
    this.#top.hidden = !side?.isLarge;
    this.drawn = [];
    this.#shape = null;
    if (side) {
      this.#looks = looksOf(side.layout.kinds);
      write(this.#title, side.layout.transports.join(" + "));
      this.#upper.setAttribute("aria-label", `${side.layout.name} under ${side.layout.transports.join(" and ")}`);
      this.say(null);
      const { trims, ports } = side.layout;
      const withCredits = ports.some((port) => port.credit_bps !== null);
      // Trims have the room of the counts of credits, so that all stand in one line.
      for (const [name, { term }] of this.#counts) term.hidden = name === "trims" ? !trims : trims && !withCredits && name.startsWith("credit");
    }
    this.#remark(side?.remarks ?? []);
    this.#dot.hidden = !side;
    if (!side) this.#clear();
    this.#reshape();
  }

  /** Forgets the picture and the counts of the side before. */
  #clear(): void {
    for (const canvas of this.layers) this.#context(canvas);
    for (const words of [this.#title, this.#state]) write(words, "");
    for (const { value } of this.#counts.values()) write(value, "–");
  }

  /** Shows a text over the picture: an error, or what takes long. */
  say(text: string | null, alarm = false): void {
    this.#note.hidden = text === null;
    this.#note.classList.toggle("alarm", alarm);
    write(this.#note, text ?? "");
  }

  /** Adds a button to the text over the picture. */
  offer(button: HTMLButtonElement, onclick: () => void): void {
    button.addEventListener("click", onclick);
    this.#note.append(button);
  }

  /** What lies at a point of the picture. */
  at(x: number, y: number, reach = 7): Target | null {
    if (!this.#side || !this.#shape) return null;
    return pick(this.#side.layout, this.#shape, this.#side.frame, x, y, reach);
  }

  /** The picture's lines, for tests and for keys. */
  get shape(): Geometry | null {
    return this.#shape;
  }

  /** The heading, and the layers of the picture with their size in pixels of the page, for export. */
  get title(): string {
    return this.#title.textContent ?? "";
  }

  get layers(): readonly HTMLCanvasElement[] {
    return [this.#links, this.#nodes, this.#upper];
  }

  get size(): { readonly width: number; readonly height: number } {
    return { width: this.#stage.clientWidth, height: this.#stage.clientHeight };
  }

  /** True while drops flash or the pointer moves, so that the picture must be drawn though the run stands still. */
  get isMoving(): boolean {
    return this.#flashes.active || this.#pointed;
  }

  #reshape(): void {
    const { clientWidth: width, clientHeight: height } = this.#stage;
    if (!this.#side || width < 20 || height < 20) return;
    const scale = devicePixelRatio || 1;
    for (const canvas of this.layers) {
      const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
      // A canvas that gets a size is blank, even if it had that size. Another side leaves the picture until it is drawn over.
      if (canvas.width !== across) canvas.width = across;
      if (canvas.height !== down) canvas.height = down;
    }
    this.#shape = geometry(this.#side.layout, width, height);
    this.#drawnLinks = this.#drawnNodes = "";
  }

  /** Draws the present frame of the side. */
  draw(wishes: Wishes, now: number): void {
    const side = this.#side;
    const shape = this.#shape;
    if (!side || !shape) return;
    const { layout, frame } = side;
    const { colors } = wishes;
    const pixelsPerByte = shape.barLength / wishes.fullBytes;
    this.#drawLinks(side, shape, wishes, now);
    const theme = String(colors.dark);
    if (theme !== this.#drawnNodes) {
      this.#drawnNodes = theme;
      const context = this.#context(this.#nodes);
      drawNodes(context, shape, layout, colors);
      drawNames(context, shape, layout, colors);
    }
    const context = this.#context(this.#upper);
    this.drawn = drawQueues(context, shape, frame, this.#looks, pixelsPerByte, colors);
    drawLimits(context, shape, layout, this.drawn, pixelsPerByte, colors);
    if (!side.isLarge) drawPackets(context, shape, layout, frame, this.#looks, wishes.flow, colors);
    drawPauses(context, shape, frame, colors);
    this.#flashes.update(frame, now);
    this.#flashes.draw(context, shape, colors, now);
    this.#dot.style.color = colors.series[colorOf(layout.transports[0] ?? "")]!;
    this.#pointed = false;
    this.#describe(side);
  }

  /** Draws the links, if their states or paths have changed; rates of links are drawn anew now and then. */
  #drawLinks(side: Side, shape: Geometry, { colors, trails }: Wishes, now: number): void {
    const { layout, frame, rates } = side;
    const states = frame.ports.state.reduce((key, state, port) => ((state & 3) === 0 ? key : key + (port + 1) * (state & 3)), 0);
    const key = `${colors.dark} ${states} ${JSON.stringify(trails)}`;
    if (key === this.#drawnLinks && !(side.isLarge && now - this.#linksAt >= RATES_MS)) return;
    this.#drawnLinks = key;
    this.#linksAt = now;
    const context = this.#context(this.#links);
    if (side.isLarge) drawUse(context, shape, layout, frame, rates, colors);
    else drawLanes(context, shape, frame, colors);
    drawTrails(context, shape, trails);
  }

  #context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const context = canvas.getContext("2d")!;
    const scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    return context;
  }

  #describe(side: Side): void {
    const target = this.#pointer && this.at(this.#pointer.x, this.#pointer.y);
    this.#hint.hidden = !target;
    if (target && this.#pointer) {
      write(this.#hint, describe(side, target));
      const right = this.#pointer.x > this.#stage.clientWidth / 2;
      const left = right ? this.#pointer.x - this.#hint.offsetWidth - 12 : this.#pointer.x + 14;
      this.#hint.style.transform = `translate(${Math.max(2, left)}px, ${Math.max(2, this.#pointer.y - 30)}px)`;
    }
    this.#upper.style.cursor = target && target.what !== "node" ? "pointer" : "default";
  }

  /** Writes the counts. They are of the frame that was drawn, but change too often to be read at its pace. */
  count(): void {
    const side = this.#side;
    if (!side) return;
    const counters = side.counters();
    const { flows_completed, flows_started } = side.progress;
    for (const [name] of COUNTS) {
      const { term, value } = this.#counts.get(name)!;
      if (name === "flows") {
        write(value, `${format.count(flows_completed)} / ${format.count(flows_started)}`);
        continue;
      }
      write(value, name === "queued" ? format.bytes(counters.queued) : format.shortCount(counters[name]));
      term.classList.toggle("zero", counters[name] === 0);
      term.classList.toggle("alarm", counters[name] > 0 && name === "drops");
    }
    const { ended } = side;
    const words: Record<string, string> = { complete: "all flows done", deadlocked: "deadlock", livelocked: "time stands still" };
    write(this.#state, ended ? (words[ended] ?? ended) : "");
    this.#state.classList.toggle("alarm", ended !== null && ended !== "complete" && ended !== "stopped");
    this.#remark(side.remarks);
    this.element.dataset["time"] = String(side.frame.nowPs);
    this.element.dataset["queued"] = String(counters.queued);
  }

  /** Writes the remarks below the heading. */
  #remark(remarks: readonly string[]): void {
    if (remarks.join("\n") === this.#remarked) return;
    this.#remarked = remarks.join("\n");
    put(this.#remarks, ...remarks.map((remark) => h("li", {}, remark)));
    this.#remarks.hidden = remarks.length === 0;
  }

  /** Lists the fastest flows of a large network. */
  list(flows: readonly { text: string; color: string; select: () => void }[]): void {
    this.#top.hidden = !this.#side?.isLarge;
    flows.forEach(({ text, color, select }, index) => {
      const item = (this.#top.children[index] ?? this.#top.appendChild(h("li", {}, h("button", { type: "button" })))) as HTMLElement;
      const line = item.firstElementChild as HTMLButtonElement;
      write(line, text);
      line.onclick = select;
      item.style.setProperty("--flow", color);
    });
    while (this.#top.children.length > flows.length) this.#top.lastElementChild!.remove();
  }
}
