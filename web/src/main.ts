/** The page starts here. */

import { App } from "./app.ts";
import { byId, h, put } from "./dom.ts";
import { connectEngine, startEngine, type Catalog } from "./engine/index.ts";
import { readStart } from "./start.ts";
import { Theme } from "./style/theme.ts";
import "./style/panels.css";
import "./style/picture.css";
import "./style/stage.css";
// The last one, since it also arranges the others on small screens.
import "./style/page.css";

declare global {
  interface Window {
    /** The page, for tests and measurements. */
    clearway?: App;
  }
}

const root = byId("page");
try {
  const theme = new Theme();
  const start = readStart();
  const engine = start.websocket === null ? await startEngine() : await connectEngine(start.websocket);
  const app = new App(root, engine, await engine.call<Catalog>({ op: "catalog" }), start, theme);
  window.clearway = app;
  await app.start();
  document.documentElement.dataset["ready"] = "true";
} catch (error) {
  put(root, h("p", { class: "error", role: "alert" }, `This page could not start: ${error instanceof Error ? error.message : String(error)}`));
  throw error;
}
