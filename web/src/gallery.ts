/** The scenarios to choose from: those of Clearway's folder `scenarios`, or those that `clearway view` was told to show. */

import type { Start, StartFile, StartSide } from "./start.ts";

/** A scenario with its two sides. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  /** What it shows, in a few sentences; empty if its file does not say. */
  readonly about: string;
  /** Files that its text may name. */
  readonly files: Record<string, StartFile>;
  readonly sides: readonly StartSide[];
}

const texts = import.meta.glob<string>("../../scenarios/*.toml", { query: "?raw", import: "default", eager: true });
const lessons = import.meta.glob<string>("../../scenarios/lessons/*.toml", { query: "?raw", import: "default", eager: true });
const networks = import.meta.glob<string>("../../scenarios/networks/*", { query: "?raw", import: "default", eager: true });

/** The order of the gallery: what is quickly understood comes first. Others follow by name. */
const FIRST = ["dumbbell", "incast", "ec4-dctcp", "rdma-incast", "deadlock", "parking-lot", "link-failure", "mixed", "websearch"];

/** The scenes of this page, in the order of its list. */
export function scenes(start: Start): Scene[] {
  if (start.scenarios.length > 0) {
    return start.scenarios.map(({ name, files, sides }) => ({
      name,
      title: name,
      about: aboutOf(sides[0]?.text ?? ""),
      files,
      sides,
    }));
  }
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const shipped = Object.entries(texts).map(([path, text]) => scene(nameOf(path), text));
  shipped.sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
  const taught = Object.entries(lessons).map(([path, text]) => scene(`lessons/${nameOf(path)}`, text));
  return [...shipped, ...taught];
}

function scene(name: string, text: string): Scene {
  const files: Record<string, StartFile> = {};
  const folder = name.startsWith("lessons/") ? "../networks" : "networks";
  for (const [path, content] of Object.entries(networks)) files[`${folder}/${path.split("/").pop()!}`] = content;
  const [left, right] = transportsOf(text);
  const side = (transport: string | null): StartSide => ({ text, transport, set: [], expected: null });
  return {
    name,
    title: name.replace("lessons/", "lesson: "),
    about: aboutOf(text),
    files,
    sides: right === undefined ? [side(left ?? null)] : [side(left ?? null), side(right)],
  };
}

function nameOf(path: string): string {
  return path.split("/").pop()!.replace(/\.toml$/, "");
}

/** The transports that a scenario's own comment compares, at most two. */
export function transportsOf(text: string): string[] {
  const found = /^#.*--transports\s+([\w,-]+)/m.exec(text);
  return found ? found[1]!.split(",").slice(0, 2) : [];
}

/** The comment at the head of a scenario, up to its first command. */
export function aboutOf(text: string): string {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("#")) break;
    const words = line.replace(/^#\s?/, "");
    if (/^\s*clearway\b/.test(words)) break;
    lines.push(words.trim());
  }
  return lines.join(" ").trim();
}
