/**
 * The start of the page: what `clearway view` asks it to show.
 *
 * `clearway view` and `clearway view --html` write one element into the head of the page:
 *
 *     <script type="application/json" id="clearway-start">{"format": 1, "scenarios": [...], "websocket": null}</script>
 *
 * Its content is JSON in which every `<` is written as \u003c. A page without the element (the site's, `vite dev`) starts
 * with the opening, and so does one whose list of scenarios is empty. python/clearway/view/start.py writes the element.
 */

/** A file that a scenario names: its text, or its bytes in base 64 where they are no text (a packed list, for example). */
export type StartFile = string | { base64: string };

/** The result of the run that this side repeats; the page says "same hash", or shows both. */
export interface Expected {
  /** Hash of the results. */
  hash: string;
  /** Version of Clearway that gave them; another version may give another hash. */
  version: string;
  /** Folder of the run, for people. */
  from: string;
}

/** One of the two simulations that are shown side by side: the arguments of the protocol's "open". */
export interface StartSide {
  /** Scenario in TOML. The two sides of a scenario have one text or, where they repeat two runs, two texts. */
  text: string;
  /** Transport of all traffic; null: that of the text. */
  transport: string | null;
  /** Keys that are set over those of the text, in their order. A seed is one of them, as text: it may exceed 2^53. */
  set: [string, string][];
  /** The result to compare with, which holds as long as text, transport and set are as given here. */
  expected: Expected | null;
}

/** A scenario to show, with one side or two. */
export interface StartScenario {
  name: string;
  /** The files that the texts name, for the protocol's "files"; send them before the sides are opened. */
  files: Record<string, StartFile>;
  sides: StartSide[];
}

/** The content of the element. */
export interface Start {
  /** The scenarios to choose from; the first is shown. Empty: the page starts with the opening. */
  scenarios: StartScenario[];
  /** Address of the native engine (ws://127.0.0.1:PORT/TOKEN/engine, in the element relative to the page's address);
   * null: the engine in the page is used. */
  websocket: string | null;
}

/** The version of this format, which the element names. */
const FORMAT = 1;

/** Reads the start from the page; a page without the element starts with the opening. */
export function readStart(page: Document = document): Start {
  const element = page.getElementById('clearway-start');
  return element ? parseStart(element.textContent ?? '', page.baseURI) : { scenarios: [], websocket: null };
}

/** Reads the content of the element in the page at `base`. Throws an error of one line if it has another format. */
export function parseStart(json: string, base: string): Start {
  const start = JSON.parse(json) as Partial<Start> & { format?: unknown };
  if (start.format !== FORMAT || !Array.isArray(start.scenarios)) {
    throw new Error(`clearway-start: format ${String(start.format)} is unknown to this page, which reads ${FORMAT}`);
  }
  for (const scenario of start.scenarios) {
    if (scenario.sides.length < 1 || scenario.sides.length > 2) {
      throw new Error(`clearway-start: ${scenario.name} has ${scenario.sides.length} sides; one or two can be shown`);
    }
  }
  const websocket = start.websocket ? new URL(start.websocket, base).href.replace(/^http/, 'ws') : null;
  return { scenarios: start.scenarios, websocket };
}
