/** Draws what the page shows: the pictures of both sides, the legend, and what is read beside them. */

import type { FlowView } from "./engine/index.ts";
import * as format from "./format.ts";
import type { Flows } from "./panels/flows.ts";
import { Legend } from "./panels/legend.ts";
import type { Panel } from "./panels/panel.ts";
import type { Trail } from "./picture/network.ts";
import type { Pane } from "./picture/pane.ts";
import type { Side } from "./run/side.ts";
import type { Selection } from "./state.ts";
import type { Theme } from "./style/theme.ts";

/** The names of the two sides, in the order in which they stand. */
export const NAMES = ["left", "right"] as const;
/** The least that a full queue in the picture stands for: about 13 full frames of Ethernet. */
const LEAST_FULL = 20e3;
/** The fastest flows that are shown of a large network. */
const TOP_FLOWS = 5;

type Sides = readonly (Side | null)[];

/** The parts of the page in which it draws. */
export interface Parts {
  readonly theme: Theme;
  readonly panes: readonly Pane[];
  readonly panel: Panel;
  readonly flows: Flows;
  readonly select: (selection: Selection) => void;
}

export class Drawing {
  readonly legend = new Legend();
  /** Bytes that the longest queue in the picture stands for, on both sides. */
  fullBytes = LEAST_FULL;
  readonly #parts: Parts;
  /** The fast flows of large networks, by side and flow. */
  readonly #known = new Map<string, FlowView>();
  #trails: [Trail[], Trail[]] = [[], []];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Forgets what was drawn of the sides before. */
  reset(): void {
    this.#known.clear();
    this.#trails = [[], []];
    this.fullBytes = LEAST_FULL;
  }

  /** Shows no path any longer. */
  deselect(): void {
    this.#parts.panel.clear();
    this.#trails = [[], []];
  }

  /** Draws the present frames of both sides. */
  draw(sides: Sides, selection: Selection | null, wall: number): void {
    const { colors } = this.#parts.theme;
    for (const side of sides) {
      if (!side) continue;
      const { queueBytes } = side.frame.ports;
      for (let port = 0; port < queueBytes.length; port++) {
        if (queueBytes[port]! > this.fullBytes) this.fullBytes = format.niceCeiling(queueBytes[port]!);
      }
    }
    this.#parts.panes.forEach((pane, index) => {
      const flow = selection?.what === "flow" && NAMES[index] === selection.side ? selection.id : null;
      pane.draw({ colors, fullBytes: this.fullBytes, flow, trails: this.#trails[index]! }, wall);
    });
    const large = sides.some((side) => side?.isLarge);
    const withCredits = sides.some((side) => side?.layout.ports.some((port) => port.credit_bps !== null));
    const withTrims = sides.some((side) => side?.layout.trims);
    this.legend.show({ large, fullBytes: this.fullBytes, withCredits, withTrims }, colors);
  }

  /** Asks for what is read beside the picture: finished flows, what is selected, the fastest flows. `isOld` ends it. */
  async details(sides: Sides, selection: Selection | null, isOld: () => boolean): Promise<void> {
    const { panes, panel, flows, theme } = this.#parts;
    await Promise.all(sides.map((side) => side?.collect()));
    if (isOld()) return;
    flows.update();
    for (const pane of panes) pane.count();
    const trails: [Trail[], Trail[]] = [[], []];
    if (selection) {
      await panel.show(selection, sides, theme.colors);
      const trail: Trail = { ports: panel.path, color: theme.colors.dark ? "#58646f" : "#b6c2cd", width: 9 };
      NAMES.forEach((name, index) => {
        if (selection.what === "port" || name === selection.side) trails[index]!.push(trail);
      });
    }
    for (const [index, side] of sides.entries()) {
      if (side?.isLarge) trails[index]!.push(...(await this.#topFlows(index, side)));
    }
    this.#trails = trails;
  }

  /** The fastest flows of a large network: their list in the pane, and their paths. */
  async #topFlows(index: number, side: Side): Promise<Trail[]> {
    const { colors } = this.#parts.theme;
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
      const select = () => this.#parts.select({ side: NAMES[index]!, what: "flow", id: flow });
      lines.push({ text: `flow ${flow}, ${name(view.source)} → ${name(view.destination)}: ${format.rate(bps)}`, color, select });
    }
    this.#parts.panes[index]!.list(lines);
    return trails;
  }
}
