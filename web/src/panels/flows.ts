/** The table of finished flows of both sides, what was found, the summary, and the hash of each run at its end. */

import type { FinishedFlow } from "../engine/index.ts";
import { h, put, write } from "../dom.ts";
import * as format from "../format.ts";
import { MOST } from "../limits.ts";
import type { Side } from "../run/side.ts";
import type { StartSide } from "../start.ts";
import { Findings } from "./findings.ts";
import { FEW, fewFlows, isFew, percentile } from "../stats.ts";

/** Rows that are shown; more would cost the page its speed and help nobody. */
const ROWS = 100;

/** One flow with its end on each side. */
interface Pair {
  readonly key: string;
  readonly flow: FinishedFlow;
  readonly ends: (FinishedFlow | null)[];
  /** The last of its ends, which sorts it. */
  last: number;
}

type Order = "newest" | "slowest" | "largest";

export class Flows {
  readonly element: HTMLElement;
  readonly #body = h("tbody");
  readonly #head = h("thead");
  readonly #summary = h("div", { class: "summary" });
  readonly #findings = new Findings();
  readonly #hashes = h("div", { class: "hashes" });
  readonly #more = h("p", { class: "muted" });
  readonly #select: (side: number, flow: number) => void;
  readonly #order: HTMLSelectElement;
  #sides: readonly (Side | null)[] = [];
  #expected: readonly (StartSide["expected"] | null)[] = [];
  #pairs = new Map<string, Pair>();
  #taken: number[] = [];
  #counts: Map<string, number>[] = [];
  #key = "";
  /** The counts that the summary shows. */
  #summarised = "";

  constructor(select: (side: number, flow: number) => void) {
    this.#select = select;
    this.#order = h("select", { "aria-label": "Order of flows", onchange: () => this.update(true) });
    for (const order of ["newest", "slowest", "largest"]) this.#order.append(h("option", { value: order }, `${order} first`));
    this.element = h(
      "section",
      { class: "flows card", "aria-label": "Flow completion times" },
      h("header", {}, h("h3", {}, "Flow completion times (FCT)"), this.#order),
      this.#findings.element,
      this.#summary,
      this.#hashes,
      h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Finished flows" }, h("table", {}, this.#head, this.#body)),
      this.#more,
    );
  }

  /** Shows other sides, and what their hashes should be. */
  show(sides: readonly (Side | null)[], expected: readonly (StartSide["expected"] | null)[]): void {
    this.#sides = sides;
    this.#expected = expected;
    this.#reset();
    this.update(true);
  }

  #reset(): void {
    this.#pairs = new Map();
    this.#taken = this.#sides.map(() => 0);
    this.#counts = this.#sides.map(() => new Map());
  }

  /** Takes flows that have finished since the last call. */
  update(force = false): void {
    if (this.#sides.some((side, index) => side && side.finished.length < this.#taken[index]!)) this.#reset();
    const key = `${this.#sides.map((side) => `${side?.finished.length},${side?.result?.hash}`).join()}`;
    if (key === this.#key && !force) return this.#summarise();
    this.#key = key;
    this.#sides.forEach((side, index) => {
      if (!side) return;
      for (const flow of side.finished.slice(this.#taken[index])) this.#take(index, flow);
      this.#taken[index] = side.finished.length;
    });
    this.#write();
  }

  /** Puts a flow beside the same one of the other side: of the same traffic, hosts and size, and as many before it. */
  #take(index: number, flow: FinishedFlow): void {
    const kind = `${flow.entry} ${flow.source} ${flow.destination} ${flow.size_bytes}`;
    const before = this.#counts[index]!.get(kind) ?? 0;
    this.#counts[index]!.set(kind, before + 1);
    const key = `${kind} ${before}`;
    const pair = this.#pairs.get(key) ?? { key, flow, ends: this.#sides.map(() => null), last: 0 };
    pair.ends[index] = flow;
    pair.last = Math.max(pair.last, flow.start_ps + flow.fct_ps);
    this.#pairs.set(key, pair);
  }

  #sorted(): Pair[] {
    const order = this.#order.value as Order;
    const slowest = (pair: Pair) => Math.max(...pair.ends.map((end) => end?.slowdown ?? 0));
    const rank = { newest: (pair: Pair) => pair.last, slowest, largest: (pair: Pair) => pair.flow.size_bytes }[order];
    return [...this.#pairs.values()].sort((a, b) => rank(b) - rank(a) || a.flow.flow - b.flow.flow);
  }

  #write(): void {
    const shown = this.#sides.map((side, index) => ({ side, index })).filter(({ side }) => side !== null) as { side: Side; index: number }[];
    const names = shown.map(({ side }) => side.layout.transports.join(" + "));
    put(
      this.#head,
      h("tr", {}, ...["Flow", "From → to", "Size"].map((name) => h("th", { scope: "col" }, name)), ...names.flatMap((name) => [h("th", { scope: "col" }, `FCT, ${name}`), h("th", { scope: "col", title: "FCT over the FCT in the idle network" }, "slowdown")])),
    );
    const sorted = this.#sorted();
    put(this.#body, ...sorted.slice(0, ROWS).map((pair) => this.#row(pair, shown)));
    const isFull = shown.some(({ side }) => side.finished.length >= MOST.finished);
    const first = isFull ? ` Of more than ${format.count(MOST.finished)} finished flows of a side, the table and the averages have the first.` : "";
    const text = sorted.length === 0 ? "Flows appear here as they finish." : sorted.length > ROWS ? `${ROWS} of ${format.count(sorted.length)} flows are shown.` : "";
    write(this.#more, text + first);
    this.#summarise();
    void this.#findings.update(this.#sides);
    put(this.#hashes, ...shown.map(({ side, index }, number) => hashLine(side, names[number]!, this.#expected[index] ?? null)));
  }

  /** Writes the summary, if its counts have changed. It begins with the first flow that finishes, or with the end of a run. */
  #summarise(): void {
    const sides = this.#sides.filter((side) => side !== null);
    const isEmpty = sides.every((side) => side.finished.length === 0 && side.ended === null);
    const key = isEmpty ? "" : `${this.#key} ${sides.map((side) => JSON.stringify(side.counters())).join()}`;
    if (key === this.#summarised) return;
    this.#summarised = key;
    const names = sides.map((side) => side.layout.transports.join(" + "));
    put(this.#summary, ...(isEmpty ? [] : summary(sides, names)));
  }

  #row(pair: Pair, shown: readonly { side: Side; index: number }[]): HTMLElement {
    const { nodes } = shown[0]!.side.layout;
    const name = (node: number) => nodes[node]?.name ?? "?";
    const { flow } = pair;
    const first = shown.find(({ index }) => pair.ends[index] !== null)!;
    const link = h("button", { type: "button", class: "link", title: "Show this flow" }, String(flow.flow));
    link.onclick = () => this.#select(first.index, pair.ends[first.index]!.flow);
    const cells = shown.flatMap(({ index }) => {
      const end = pair.ends[index];
      return end ? [h("td", {}, format.duration(end.fct_ps)), h("td", {}, end.slowdown.toFixed(2))] : [h("td", {}, "–"), h("td", {}, "–")];
    });
    return h("tr", {}, h("td", {}, link), h("td", { class: "word" }, `${name(flow.source)} → ${name(flow.destination)}`), h("td", {}, format.bytes(flow.size_bytes)), ...cells);
  }
}

/** The table of counts and averages, and the remark on percentiles of few flows. */
function summary(sides: readonly Side[], names: readonly string[]): HTMLElement[] {
  const ascending = (values: number[]) => values.sort((a, b) => a - b);
  const measured = sides.map((side) => side.measured);
  const withTrims = sides.some((side) => side.layout.trims);
  const columns = sides.map((side, index) => {
    const flows = measured[index]!;
    const { marks, trims, drops, pauses } = side.counters();
    const counts = [marks, ...(withTrims ? [trims] : []), drops, pauses].map(format.count);
    if (flows.length === 0) return ["0", "–", "–", "–", "–", ...counts];
    const times = ascending(flows.map((flow) => flow.fct_ps));
    const slow = ascending(flows.map((flow) => flow.slowdown));
    const mark = isFew(flows.length) ? FEW : "";
    return [
      format.count(flows === side.finished ? Math.max(flows.length, side.progress.flows_completed) : flows.length),
      format.duration(times.reduce((sum, time) => sum + time, 0) / times.length),
      format.duration(percentile(times, 50)),
      format.duration(percentile(times, 99)) + mark,
      format.significant(percentile(slow, 99)) + mark,
      ...counts,
    ];
  });
  const times = ["mean FCT", "median FCT", "99th percentile of FCT", "99th percentile of slowdown"];
  const cut = withTrims ? ["packets cut to headers"] : [];
  const rows = ["flows finished", ...times, "packets marked (ECN)", ...cut, "packets dropped", "pause frames sent (PFC)"];
  const remark = fewFlows(measured.map((flows) => flows.length));
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("td"), ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows.map((row, index) => h("tr", {}, h("th", { scope: "row" }, row), ...columns.map((column) => h("td", {}, column[index]!))))),
  );
  return remark === null ? [table] : [table, h("p", { class: "muted" }, remark)];
}

function hashLine(side: Side, name: string, expected: StartSide["expected"]): HTMLElement {
  const hash = side.result?.hash ?? null;
  if (hash === null) return h("p", { class: "muted" }, `${name}: the hash of the results appears at the end of the run.`);
  const words = h("p", {}, `${name}: hash `, h("code", { "data-hash": side.run }, hash));
  if (expected?.hash === hash) words.append(h("strong", { class: "same" }, ` same hash as ${expected.from}`));
  else if (expected) words.append(h("strong", { class: "differs" }, ` differs from ${expected.hash} of ${expected.from} (Clearway ${expected.version})`));
  return words;
}
