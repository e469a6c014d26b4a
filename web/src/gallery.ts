/** The scenarios to choose from: those of Clearway's folder `scenarios`, or those that `clearway view` was told to show. */

import questions from "virtual:examples";
import { parseTime } from "./format.ts";
import type { Lesson } from "./lessons.ts";
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

/** The scenes of this page. */
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
  const shipped = Object.entries(texts).map(([path, text]) => scene(nameOf(path), text));
  const taught = Object.entries(lessons).map(([path, text]) => scene(`lessons/${nameOf(path)}`, text));
  return [...shipped, ...taught];
}

/** A scene that is none of this page's: a text from a file or a link, which may name no other file. */
export function foreignScene(name: string, text: string): Scene {
  return { ...scene(name, text), files: {} };
}

function scene(name: string, text: string): Scene {
  const files: Record<string, StartFile> = {};
  const folder = name.startsWith("lessons/") ? "../networks" : "networks";
  for (const [path, content] of Object.entries(networks)) files[`${folder}/${path.split("/").pop()!}`] = content;
  const side = (compared: Compared): StartSide => ({ text, ...compared, expected: null });
  return {
    name,
    title: name.replace("lessons/", "lesson-"),
    about: aboutOf(text),
    files,
    sides: comparedBy(text).map(side),
  };
}

function nameOf(path: string): string {
  return path.split("/").pop()!.replace(/\.toml$/, "");
}

/** A card of the gallery: a scene, or a lesson on it. */
export interface Card {
  readonly title: string;
  /** What one sees, in a sentence. */
  readonly sentence: string;
  readonly scene: Scene;
  readonly lesson: Lesson | null;
  /** The transports of both sides, as choices of a view; null: those with which the scene begins. */
  readonly sides: readonly [string, string] | null;
  /** The instant in ps that its small picture shows. */
  readonly moment: number;
}

/** Cards that answer one question. */
export interface Group {
  readonly title: string;
  readonly cards: readonly Card[];
}

/** The instants of the small pictures, where 100 us show too little. */
const MOMENTS: Readonly<Record<string, string>> = {
  dumbbell: "5200 us",
  deadlock: "200 us",
  "credit-classes": "400 us",
  "without-credits": "600 us",
  "ec4-dctcp": "1 ms",
  "link-failure": "5100 us",
  "parking-lot": "300 us",
};

/** The gallery: lessons first, then the scenes by the question that they answer. */
export function groups(scenes: readonly Scene[], lessons: readonly Lesson[]): Group[] {
  const examples = questions.flatMap(({ example }) => example);
  const sceneOf = (file: string) => scenes.find(({ name }) => `${name}.toml` === file);
  const taught = lessons.flatMap((lesson): Card[] => {
    const file = `lessons/${lesson.scenario}.toml`;
    const scene = sceneOf(file);
    if (!scene) return [];
    const sentence = examples.find((example) => example.file === file)?.shows ?? "";
    const sides = lesson.left === null ? null : ([lesson.left, lesson.right ?? "none"] as const);
    return [{ title: lesson.title, sentence, scene, lesson, sides, moment: parseTime(lesson.picture ?? "") ?? MOMENT }];
  });
  const asked = questions.map(({ ask, example }) => ({
    title: ask,
    cards: example.flatMap(({ file, shows }) => {
      const scene = file.startsWith("lessons/") ? undefined : sceneOf(file);
      return scene ? [card(scene, shows)] : [];
    }),
  }));
  const shown = [{ title: "Lessons", cards: taught }, ...asked].filter(({ cards }) => cards.length > 0);
  const placed = new Set(shown.flatMap(({ cards }) => cards.map(({ scene }) => scene)));
  const others = scenes.filter((scene) => !placed.has(scene));
  return others.length > 0 ? [...shown, ...ownGroups(others, "Others")] : shown;
}

/** The gallery of scenes that `clearway view` was told to show: one group without a question. */
export function ownGroups(scenes: readonly Scene[], title = "Scenarios"): Group[] {
  return [{ title, cards: scenes.map((scene) => card(scene, scene.about)) }];
}

function card(scene: Scene, sentence: string): Card {
  return { title: scene.title, sentence, scene, lesson: null, sides: null, moment: parseTime(MOMENTS[scene.name] ?? "") ?? MOMENT };
}

/** The instant in ps of a small picture that names none. */
const MOMENT = 100e6;

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
