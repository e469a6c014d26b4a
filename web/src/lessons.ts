/** The lessons: a scene, what to look at, and a few sentences, from docs/lessons. */

import { h } from "./dom.ts";
import { parseTime } from "./format.ts";

export interface Lesson {
  readonly name: string;
  readonly title: string;
  readonly order: number;
  /** Name of a file in the folder `scenarios/lessons`, without its ending. */
  readonly scenario: string;
  readonly left: string | null;
  readonly right: string | null;
  /** The instant at which the lesson begins, as a time with its unit. */
  readonly start: string;
  /** Simulated us a second. */
  readonly speed: number | null;
  /** The port whose series is shown, by name. */
  readonly watch: string | null;
  /** The instant of the lesson's pictures, as a time with its unit. */
  readonly picture: string | null;
  /** The sentences, in Markdown. */
  readonly body: string;
}

const pages = import.meta.glob<string>("../../docs/lessons/*.md", { query: "?raw", import: "default", eager: true });

/** All lessons in their order. */
export function allLessons(): Lesson[] {
  return Object.entries(pages)
    .map(([path, page]) => parseLesson(path.split("/").pop()!.replace(/\.md$/, ""), page))
    .filter((lesson) => lesson !== null)
    .sort((a, b) => a.order - b.order);
}

/** Reads a lesson; a page without front matter is none. */
export function parseLesson(name: string, page: string): Lesson | null {
  const found = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(page);
  if (!found) return null;
  const fields = new Map<string, string>();
  for (const line of found[1]!.split("\n")) {
    const pair = /^(\w+)\s*[:=]\s*(.*)$/.exec(line);
    if (pair) fields.set(pair[1]!, pair[2]!.trim().replace(/^(["'])(.*)\1$/, "$2"));
  }
  const text = (key: string) => fields.get(key) || null;
  const scenario = text("scenario");
  if (!scenario) return null;
  const speed = parseTime((text("speed") ?? "").replace(/\/s$/, ""));
  return {
    name,
    title: text("title") ?? name,
    order: Number(text("order") ?? 0),
    scenario: scenario.replace(/\.toml$/, ""),
    left: text("left"),
    right: text("right"),
    start: text("start") ?? "0us",
    speed: speed === null ? null : speed / 1e6,
    watch: text("watch"),
    picture: text("picture"),
    // What to read next leads to pages of the documentation, which are not here.
    body: found[2]!.replace(/^\s*# .*\n/, "").replace(/\n\*\*Next:\*\*[\s\S]*$/, "").trim(),
  };
}

/** Sentences in Markdown as elements: paragraphs, lists, emphasis, code; links keep their words. */
export function prose(markdown: string): HTMLElement[] {
  const blocks: HTMLElement[] = [];
  for (const block of markdown.split(/\n\s*\n/)) {
    const trimmed = block.trim();
    if (trimmed === "" || trimmed.startsWith("!") || trimmed.startsWith("<") || trimmed.startsWith("```")) continue;
    const heading = /^#+\s+(.*)$/.exec(trimmed);
    if (heading) blocks.push(h("h3", {}, ...inline(heading[1]!)));
    else if (/^([*-]|\d+\.)\s/.test(trimmed)) {
      const items = trimmed.split(/\n(?=(?:[*-]|\d+\.)\s)/).map((item) => h("li", {}, ...inline(item.replace(/^([*-]|\d+\.)\s+/, ""))));
      blocks.push(/^\d/.test(trimmed) ? h("ol", {}, ...items) : h("ul", {}, ...items));
    } else blocks.push(h("p", {}, ...inline(trimmed)));
  }
  return blocks;
}

function inline(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|[*_]([^*_]+)[*_]|\[([^\]]+)\]\(([^)]+)\)/g;
  let at = 0;
  const flat = text.replace(/\s*\n\s*/g, " ");
  for (const found of flat.matchAll(pattern)) {
    parts.push(flat.slice(at, found.index));
    const [, code, strong, emphasis, words] = found;
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (strong !== undefined) parts.push(h("strong", {}, strong));
    else if (emphasis !== undefined) parts.push(h("em", {}, emphasis));
    else parts.push(words!);
    at = found.index + found[0].length;
  }
  parts.push(flat.slice(at));
  return parts;
}
