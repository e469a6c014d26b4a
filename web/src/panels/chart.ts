/** A chart of series over time in the colours of the transports, drawn by uPlot. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h } from "../dom.ts";
import type { Colors } from "../style/colors.ts";

/** One line of a chart. */
export interface Line {
  readonly label: string;
  readonly color: string;
  readonly dashed: boolean;
  /** Times in us. */
  readonly times: readonly number[];
  readonly values: readonly number[];
}

const HEIGHT = 150;
const FONT = "11px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

export class Chart {
  readonly element = h("figure", { class: "chart" });
  readonly #title: string;
  readonly #format: (value: number) => string;
  readonly #forEveryone: boolean;
  #plot: uPlot | null = null;
  #key = "";

  /** A chart that is not for everyone, such as that of credits, is left out where all values are zero. */
  constructor(title: string, format: (value: number) => string, forEveryone = true) {
    this.#title = title;
    this.#format = format;
    this.#forEveryone = forEveryone;
    new ResizeObserver(() => {
      const width = this.element.clientWidth;
      if (width > 0) this.#plot?.setSize({ width, height: HEIGHT });
    }).observe(this.element);
  }

  /** Draws lines; those of the same labels and colours as before only get their values. */
  show(lines: readonly Line[], colors: Colors): void {
    const some = lines.some((line) => line.values.some((value) => Number.isFinite(value) && (this.#forEveryone || value > 0)));
    this.element.hidden = !some;
    if (!some) return;
    const tables = lines.map((line): uPlot.AlignedData => [
      line.times as number[],
      line.values.map((value) => (Number.isFinite(value) ? value : null)),
    ]);
    const data = tables.length === 1 ? tables[0]! : uPlot.join(tables, tables.map(() => [1, 1]));
    const key = `${colors.dark}${lines.map((line) => `${line.label}${line.color}${line.dashed}`).join()}`;
    if (this.#plot && key === this.#key) {
      this.#plot.setData(data);
      return;
    }
    this.#plot?.destroy();
    this.#key = key;
    this.#plot = new uPlot(this.#options(lines, colors), data, this.element);
  }

  #options(lines: readonly Line[], colors: Colors): uPlot.Options {
    const axis = { stroke: colors.muted, font: FONT, grid: { stroke: colors.grid, width: 0.7 }, ticks: { show: false } };
    const time = (us: number) => (us >= 1e4 ? `${+(us / 1e3).toFixed(2)} ms` : `${+us.toFixed(2)} us`);
    return {
      title: this.#title,
      width: Math.max(120, this.element.clientWidth),
      height: HEIGHT,
      cursor: { y: false, points: { size: 5 }, sync: { key: "clearway" } },
      legend: { live: true },
      scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.06 : 1] } },
      axes: [
        { ...axis, size: 22, gap: 2, space: 70, values: (_, ticks) => ticks.map(time) },
        { ...axis, size: 62, gap: 3, space: 28, values: (_, ticks) => ticks.map(this.#format) },
      ],
      series: [
        { label: "time", value: (_, us) => (us === null ? "" : time(us)) },
        ...lines.map(
          (line): uPlot.Series => ({
            label: line.label,
            stroke: line.color,
            width: 1.6,
            ...(line.dashed ? { dash: [6, 3] } : {}),
            points: { show: false },
            // Runs are looked at at instants of their own: the points of one lie between those of the other.
            spanGaps: true,
            value: (_, value) => (value === null ? "" : this.#format(value)),
          }),
        ),
      ],
    };
  }

  destroy(): void {
    this.#plot?.destroy();
    this.#plot = null;
  }
}
