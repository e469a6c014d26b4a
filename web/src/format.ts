/** Numbers as people read them, with their unit. */

const SPACE = " ";

function scaled(value: number, steps: readonly [number, string][]): string {
  const [size, unit] = steps.find(([size]) => Math.abs(value) >= size) ?? steps[steps.length - 1]!;
  return `${significant(value / size)}${SPACE}${unit}`;
}

/** Three significant digits, without an exponent up to a million. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 6) });
}

/** A duration in ps with the unit that gives few digits. */
export function duration(ps: number): string {
  return scaled(ps, [
    [1e12, "s"],
    [1e9, "ms"],
    [1e6, "us"],
    [1e3, "ns"],
    [1, "ps"],
  ]);
}

/** A simulated instant in us with a fixed number of decimals, so that it does not jump about while it runs. */
export function instant(ps: number): string {
  const [whole, part] = (ps / 1e6).toFixed(3).split(".") as [string, string];
  return `${Number(whole).toLocaleString("en")}.${part}${SPACE}us`;
}

/** A number of bytes; units are decimal, as in scenario files. */
export function bytes(count: number): string {
  return scaled(count, [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
    [1, "B"],
  ]);
}

/** A rate in bit/s. */
export function rate(bps: number): string {
  return scaled(bps, [
    [1e12, "Tbps"],
    [1e9, "Gbps"],
    [1e6, "Mbps"],
    [1e3, "Kbps"],
    [1, "bps"],
  ]);
}

/** A count with separators of thousands. */
export function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 0 });
}

/** A large count in the width of a table cell: 12.3 M. */
export function shortCount(value: number): string {
  if (value < 1e5) return count(value);
  return scaled(value, [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]);
}

/** A time with a unit, as in scenario files and links (`1.5 ms`, `20us`), in ps; null if it is not one. */
export function parseTime(text: string): number | null {
  const found = /^\s*([0-9]+(?:\.[0-9]+)?)\s*(ps|ns|us|ms|s)\s*$/.exec(text);
  if (!found) return null;
  const unit = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 }[found[2] as "ps" | "ns" | "us" | "ms" | "s"];
  const ps = Math.round(Number(found[1]) * unit);
  return Number.isSafeInteger(ps) ? ps : null;
}

/** An instant as a reader or a link writes it, in ps: a time, whose thousands may be separated (`1,250 us`), or `end`; null if it is neither. */
export function parseInstant(text: string): number | null {
  if (text.trim() === "end") return Number.POSITIVE_INFINITY;
  return parseTime(text.replace(/(\d),(?=\d{3}(?!\d))/g, "$1"));
}

/** The least of 1, 2 and 5 times a power of ten that is not below `value`. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-12)));
  const step = [1, 2, 5].find((step) => step * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** The most characters of a message: it may hold a part of a text that somebody else wrote. */
const MESSAGE = 1000;

/** An error in words, cut if they are many. */
export function message(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > MESSAGE ? `${text.slice(0, MESSAGE)} …` : text;
}
