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
  const side = (compared: Compared): StartSide => ({ text, ...compared, expected: null });
  return {
    name,
    title: name.replace("lessons/", "lesson: "),
    about: aboutOf(text),
    files,
    sides: comparedBy(text).map(side),
  };
}

function nameOf(path: string): string {
  return path.split("/").pop()!.replace(/\.toml$/, "");
}

/** What tells the two sides of a scenario apart. */
type Compared = Pick<StartSide, "transport" | "set">;

/**
 * What the commands in a scenario's own comment compare: two transports of all traffic (`--transports A,B`), or the
 * scenario as it is and with another transport of a traffic entry (`--set traffic.NAME.transport='...'`).
 */
export function comparedBy(text: string): Compared[] {
  const own: Compared = { transport: null, set: [] };
  const all = /^#.*--transports\s+([\w,-]+)/m.exec(text);
  if (all) return all[1]!.split(",").slice(0, 2).map((transport) => ({ ...own, transport }));
  const entry = /^#.*--set (traffic\.[\w-]+\.transport)=(?:'([^']*)'|([\w-]+))/m.exec(text);
  return entry ? [own, { ...own, set: [[entry[1]!, entry[2] ?? entry[3]!]] }] : [own];
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
