/**
 * The colours of the page: those of Clearway's reports (python/clearway/report/style.py), where a transport looks the same
 * everywhere and any two colours stay apart for all kinds of colour vision.
 */

/** Colours on (light, dark) paper. */
const PAIRS: readonly (readonly [string, string])[] = [
  ["#1f6feb", "#58a6ff"],
  ["#d4570b", "#ff9b50"],
  ["#621976", "#a05dae"],
  ["#0b9f8c", "#0e9f8d"],
  ["#d4556e", "#a8655e"],
  ["#494e59", "#aab4c9"],
  ["#006641", "#b9f2b2"],
  ["#a24a91", "#fe6297"],
  ["#592a00", "#a9780b"],
];

/** The transports of each colour. */
const SHARING: readonly (readonly string[])[] = [
  ["expresspass", "uec-rccc", "eqds"],
  ["dctcp", "rdma-dctcp", "uec-nscc"],
  ["pac", "naive-credit", "uec"],
  ["timely", "expresspass-hotnets16", "ndp"],
  ["pacc", "cubic", "fixed-window"],
  ["rocev2", "ideal", "blast"],
  ["hpcc", "rcp", "ack-shaper"],
  ["ec4", "hull", "ictcp"],
  ["dcqcn", "newreno", "dx"],
];

/** The colours in which the canvas draws. */
export interface Colors {
  readonly dark: boolean;
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  readonly paper: string;
  readonly back: string;
  readonly alarm: string;
  readonly data: string;
  readonly marked: string;
  readonly trimmed: string;
  readonly credit: string;
  readonly ack: string;
  readonly cnp: string;
  readonly pause: string;
  readonly other: string;
  /** Colours of flows and series, by number. */
  readonly series: readonly string[];
  /** Utilisation of a link from idle to full, in equal steps. */
  readonly heat: readonly string[];
}

const LIGHT: Colors = {
  dark: false,
  ink: "#1f2328",
  muted: "#59636e",
  grid: "#d8dee4",
  paper: "#ffffff",
  back: "#f6f8fa",
  alarm: "#b3261e",
  data: "#1f6feb",
  marked: "#d4570b",
  trimmed: "#7a3ec8",
  credit: "#0b9f8c",
  ack: "#59636e",
  cnp: "#a24a91",
  pause: "#b3261e",
  other: "#592a00",
  series: PAIRS.map((pair) => pair[0]),
  heat: ["#d8dee4", "#b9cfee", "#8fb6ef", "#5a95ec", "#1f6feb", "#6a4fc2", "#a8397f", "#d4570b"],
};

const DARK: Colors = {
  dark: true,
  ink: "#e6edf3",
  muted: "#9aa5b1",
  grid: "#30363d",
  paper: "#14181f",
  back: "#0d1117",
  alarm: "#ff8a80",
  data: "#58a6ff",
  marked: "#ff9b50",
  trimmed: "#b994ff",
  credit: "#2fd0b9",
  ack: "#9aa5b1",
  cnp: "#fe6297",
  pause: "#ff8a80",
  other: "#d8a73a",
  series: PAIRS.map((pair) => pair[1]),
  heat: ["#30363d", "#27405f", "#285a91", "#3c7fcb", "#58a6ff", "#9d8cf0", "#e07fa6", "#ff9b50"],
};

/** The colours of a theme. */
export function colorsOf(dark: boolean): Colors {
  return dark ? DARK : LIGHT;
}

/** The number of a transport's colour in `Colors.series`. */
export function colorOf(transport: string): number {
  const found = SHARING.findIndex((names) => names.includes(transport));
  return found < 0 ? 5 : found;
}

/** The colour of a utilisation between 0 and 1. */
export function heat(colors: Colors, utilisation: number): string {
  const steps = colors.heat.length;
  const step = utilisation < 0.005 ? 0 : 1 + Math.min(steps - 2, Math.floor(utilisation * (steps - 1)));
  return colors.heat[step] ?? colors.grid;
}
