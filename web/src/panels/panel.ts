/** The panel of what is selected: a port or a flow, what it is, its state now and its series, on both sides. */

import type { FlowView, Port, PortView } from "../engine/index.ts";
import { h, put } from "../dom.ts";
import * as format from "../format.ts";
import { underWay } from "../picture/pick.ts";
import type { FlowSeries, PortSeries } from "../run/history.ts";
import type { Side } from "../run/side.ts";
import type { Selection } from "../state.ts";
import { colorOf, type Colors } from "../style/colors.ts";
import { Chart, type Line } from "./chart.ts";

/** A side with the answer of the engine on what is selected there. */
interface Looked<View> {
  readonly side: Side;
  readonly view: View;
}

type Sides = readonly (Side | null)[];

export class Panel {
  readonly element: HTMLElement;
  readonly #title = h("h3");
  readonly #facts = h("div", { class: "facts" });
  readonly #charts = h("div", { class: "charts" });
  readonly #state = h("div", { class: "state-now" });
  readonly #port = {
    queue: new Chart("Queue", format.bytes),
    rate: new Chart("Rate on the wire, over 50 us", format.rate),
    credits: new Chart("Credits a second, over 50 us", format.shortCount, false),
    creditQueue: new Chart("Queue of credits", format.bytes, false),
  };
  readonly #flow = {
    rate: new Chart("Rate of delivery, over 50 us", format.rate),
    window: new Chart("Window", format.bytes),
    pace: new Chart("Rate of the sender", format.rate),
    srtt: new Chart("Smoothed round-trip time", (us) => format.duration(us * 1e6)),
  };
  /** Ports on the path of the selected flow. */
  path: readonly number[] = [];

  readonly #choose = h("select", { "aria-label": "Port to show" });

  constructor(close: () => void, choose: (port: number) => void) {
    this.#choose.addEventListener("change", () => this.#choose.value && choose(Number(this.#choose.value)));
    this.element = h(
      "section",
      { class: "panel card", "aria-label": "Selected", "aria-live": "off" },
      h("header", {}, this.#title, this.#choose, h("button", { type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: close }, "×")),
      this.#facts,
      this.#charts,
      this.#state,
    );
    this.clear();
  }

  /** Lists the ports, for those who choose by name. */
  ports(ports: readonly Port[]): void {
    put(this.#choose, h("option", { value: "" }, "Port …"), ...ports.map((port) => h("option", { value: String(port.id) }, port.name)));
  }

  /** Shows that nothing is selected. */
  clear(): void {
    this.path = [];
    this.#choose.value = "";
    put(this.#title, "Nothing is selected");
    put(this.#facts, h("p", { class: "muted" }, "Click a link or a queue for its port, and a packet for its flow: their series appear here, and the path of a flow stands out in the picture."));
    put(this.#charts);
    put(this.#state);
    this.element.classList.add("empty");
  }

  /** Asks the engine about what is selected, and shows it. */
  async show(selection: Selection, sides: Sides, colors: Colors): Promise<void> {
    const own = sides[selection.side === "left" ? 0 : 1];
    if (!own) return this.clear();
    this.element.classList.remove("empty");
    if (selection.what === "port") await this.#showPort(selection.id, own, sides, colors);
    else await this.#showFlow(selection.id, own, sides, colors);
  }

  async #showPort(id: number, own: Side, sides: Sides, colors: Colors): Promise<void> {
    const port = own.layout.ports[id];
    if (!port) return this.clear();
    const found: Looked<PortView>[] = [];
    for (const side of sides) {
      if (side?.layout.ports[id]?.name !== port.name) continue;
      found.push({ side, view: await side.engine.call<PortView>({ op: "port", run: side.run, port: id }) });
    }
    this.path = [id];
    this.#choose.value = String(id);
    put(this.#title, `Port ${port.name}`);
    const limits = [`${format.rate(port.rate_bps)}, ${format.duration(port.delay_ps)} to the next node`];
    limits.push(port.buffer_bytes === null ? "no buffer limit of its own" : `buffer ${format.bytes(port.buffer_bytes)}`);
    if (port.credit_bps !== null) limits.push(`credits limited to ${format.rate(port.credit_bps)}`);
    put(this.#facts, h("p", { class: "muted" }, limits.join("; ")));
    put(this.#state, table(found.map(({ side, view }) => portColumn(side, view))));
    const lines = (name: Parameters<PortSeries["column"]>[0]) =>
      found.map(({ side }, index) => lineOf(side, index, side.history.port(id), name, found, colors));
    this.#draw(this.#port, lines, colors);
  }

  async #showFlow(id: number, own: Side, sides: Sides, colors: Colors): Promise<void> {
    const mine = await own.engine.call<FlowView>({ op: "flow", run: own.run, flow: id });
    const found: Looked<FlowView>[] = [];
    for (const side of sides) {
      if (!side) continue;
      if (side === own) found.push({ side, view: mine });
      else {
        // Flows have the number of their start, so the other side's is another one if starts depend on ends.
        const view = await side.engine.call<FlowView>({ op: "flow", run: side.run, flow: id }).catch(() => null);
        if (view && view.entry === mine.entry && view.number === mine.number) found.push({ side, view });
      }
    }
    const { ports } = underWay(own, id);
    this.path = ports.length > 0 ? ports : mine.path;
    this.#choose.value = "";
    const name = (node: number) => own.layout.nodes[node]?.name ?? "?";
    put(this.#title, `Flow ${id}: ${name(mine.source)} → ${name(mine.destination)}`);
    const size = mine.size_bytes === null ? "without an end" : format.bytes(mine.size_bytes);
    const hops = this.path.map((port) => own.layout.ports[port]?.name ?? "?").join(", ");
    const way = ports.length > 0 ? `packets choose paths by entropy values, and are now on ${hops}` : `path ${hops || "not known any more"}`;
    const about = `${mine.entry} #${mine.number}, ${size}, started at ${format.duration(mine.start_ps)}; ${way}`;
    put(this.#facts, h("p", { class: "muted" }, about));
    put(this.#state, table(found.map(({ side, view }) => flowColumn(side, view))));
    const lines = (column: Parameters<FlowSeries["column"]>[0]) =>
      found.map(({ side }, index) => lineOf(side, index, side.history.flow(id), column, found, colors));
    this.#draw(this.#flow, lines, colors);
  }

  #draw<Name extends string>(charts: Record<Name, Chart>, lines: (name: Name) => Line[], colors: Colors): void {
    const all = Object.entries(charts) as [Name, Chart][];
    if (this.#charts.firstElementChild !== all[0]![1].element) put(this.#charts, ...all.map(([, chart]) => chart.element));
    for (const [name, chart] of all) chart.show(lines(name), colors);
  }
}

function lineOf<Name extends string>(
  side: Side,
  index: number,
  series: { times: readonly number[]; column(name: Name): readonly number[] },
  name: Name,
  all: readonly Looked<unknown>[],
  colors: Colors,
): Line {
  const number = (one: Side) => colorOf(one.layout.transports[0] ?? "");
  const shared = index > 0 && number(side) === number(all[0]!.side);
  return {
    label: labelOf(side),
    color: colors.series[number(side)]!,
    dashed: shared,
    times: series.times,
    values: series.column(name),
  };
}

function labelOf(side: Side): string {
  return side.layout.transports.join(" + ");
}

type Column = { head: string; rows: [string, string][] };

function portColumn(side: Side, view: PortView): Column {
  const rows: [string, string][] = [["queue now", format.bytes(view.queue_bytes)]];
  for (const one of view.by_class) if (one.packets > 0) rows.push([`class ${one.class}`, `${format.count(one.packets)} packets`]);
  for (const [name, value] of Object.entries(view.counters)) if (value > 0) rows.push(counter(name, value));
  for (const [reason, value] of Object.entries(view.drops)) {
    if (value > 0) rows.push([`dropped: ${reason.replaceAll("_", " ")}`, format.count(value)]);
  }
  if (view.paused) rows.push(["paused", "now"]);
  const head = view.queued[0];
  if (head) rows.push(["next to leave", `${head.kind} of flow ${head.flow}`]);
  return { head: labelOf(side), rows };
}

/** A counter with its unit, which is the end of its name. */
function counter(name: string, value: number): [string, string] {
  const words = name.replaceAll("_", " ");
  if (name.endsWith("_ps")) return [words.slice(0, -3), format.duration(value)];
  return [words, name.endsWith("bytes") ? format.bytes(value) : format.count(value)];
}

function flowColumn(side: Side, view: FlowView): Column {
  const rows: [string, string][] = [["state", view.state], ["delivered", format.bytes(view.delivered_bytes)]];
  if (view.window_bytes !== null) rows.push(["window", format.bytes(view.window_bytes)]);
  if (view.rate_bps !== null) rows.push(["rate of the sender", format.rate(view.rate_bps)]);
  if (view.srtt_ps !== null) rows.push(["smoothed round-trip time", format.duration(view.srtt_ps)]);
  const { entropies } = view.flow === null ? { entropies: [] } : underWay(side, view.flow);
  if (entropies.length > 0) rows.push([entropies.length === 1 ? "entropy value under way" : "entropy values under way", some(entropies)]);
  const done = side.finished.find((row) => row.flow === view.flow);
  if (done) rows.push(["FCT", `${format.duration(done.fct_ps)}, slowdown ${format.significant(done.slowdown)}`]);
  return { head: `${labelOf(side)}${labelOf(side) === view.transport ? "" : `: ${view.transport}`}`, rows };
}

/** The most entropy values that the table names. */
const NAMED = 8;

/** How many numbers there are, and the first of them. */
function some(numbers: readonly number[]): string {
  const named = numbers.slice(0, NAMED).join(", ");
  return numbers.length > NAMED ? `${numbers.length}: ${named}, …` : named;
}

/** One row a quantity, one column a side. */
function table(columns: readonly Column[]): HTMLElement {
  const names = [...new Set(columns.flatMap((column) => column.rows.map(([name]) => name)))];
  const cell = (column: Column, name: string) => column.rows.find(([own]) => own === name)?.[1] ?? "–";
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("td"), ...columns.map((column) => h("th", { scope: "col" }, column.head)))),
    h("tbody", {}, ...names.map((name) => h("tr", {}, h("th", { scope: "row" }, name), ...columns.map((column) => h("td", {}, cell(column, name)))))),
  );
}
