/** Files that come in and go out: scenarios that the reader opens or drops, and what the page exports. */

import { parse } from "@decimalturn/toml-patch";
import { MOST, textProblem } from "./limits.ts";
import type { Side } from "./run/side.ts";
import type { View } from "./state.ts";

/** A scenario from a file, or why the file is none. */
export type Opened = { readonly name: string; readonly text: string } | { readonly problem: string };

/** Reads a scenario. What is wrong inside a scenario is left to the engine, which names the line. */
export async function readScenario(file: File): Promise<Opened> {
  const problem = (why: string): Opened => ({ problem: `“${file.name.slice(0, 80)}” is no scenario: ${why}.` });
  if (file.size > 4 * MOST.text) return problem(`it has ${Math.round(file.size / 1e6)} MB, and a scenario is a text of 1 MB at most`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return problem("it is no text");
  }
  const tooMuch = textProblem(text);
  if (tooMuch !== null) return problem(tooMuch);
  const isToml = /\.toml$/i.test(file.name);
  const kind = "a scenario is a TOML file with the tables [topology] and [[traffic]]";
  try {
    const table = parse(text) as Record<string, unknown>;
    if (!("topology" in table) && !("traffic" in table)) return problem(kind);
  } catch {
    if (!isToml) return problem(kind);
  }
  return { name: nameOf(file.name), text };
}

/** The name of a scenario in a file, with characters that addresses keep. */
function nameOf(file: string): string {
  return file.replace(/\.toml$/i, "").replace(/[^\w.-]+/g, "-").slice(0, 64) || "scenario";
}

/** The text to export: with a comment on seed and transports of the view, which this page reads again too. */
export function exportedText(text: string, view: View, name: string): string {
  const seed = view.seed === null ? "" : ` --seed ${view.seed}`;
  const transports = [view.left, view.right].filter((choice) => choice !== "none" && choice !== "own");
  if (transports.length === 0 && seed === "") return text;
  const [left, right] = transports;
  const command = right ? `compare ${name}.toml --transports ${left},${right}` : `run ${name}.toml${left ? ` --transport ${left}` : ""}`;
  const line = `# clearway ${command}${seed}\n`;
  return text.startsWith(line) ? text : `${line}#\n${text}`;
}

/** The finished flows of both sides as CSV, with the names that columns of results have. */
export function flowsCsv(sides: readonly (Side | null)[]): string {
  const head = ["side", "transport", "flow", "traffic", "src", "dst", "size_bytes", "start_s", "fct_s", "ideal_fct_s", "slowdown"];
  const rows = sides.flatMap((side, index) =>
    (side?.finished ?? []).map((row) => {
      const { nodes, transports, entries } = side!.layout;
      const transport = entries.find((entry) => entry.name === row.entry)?.transport ?? transports[0]!;
      const node = (id: number) => nodes[id]?.name ?? String(id);
      const times = [row.start_ps, row.fct_ps, row.ideal_ps].map(seconds);
      return [index === 0 ? "left" : "right", transport, row.flow, row.entry, node(row.source), node(row.destination), row.size_bytes, ...times, row.slowdown];
    }),
  );
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}

/** Seconds of a time in ps, without a loss and without an exponent. */
export function seconds(ps: number): string {
  const digits = String(ps).padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, "");
}

/** A cell of CSV (RFC 4180). */
function cell(value: string | number): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hands a file to the reader. */
export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
