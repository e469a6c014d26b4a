/** Chromium with the built page, for the tests of the page. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

/** The repository. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** The page as `make web` builds it. */
export const PAGE = process.env.CLEARWAY_PAGE ?? resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'web/clearway.html');

/** Asks now and then, not at each frame: a busy machine may draw a new page late. */
const WAITING = { timeout: 20_000, polling: 50 };

/** Starts Chromium. */
export async function launch() {
  if (!existsSync(PAGE)) {
    throw new Error(`${PAGE} is not there; \`make web\` builds it`);
  }
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Tabs of each browser that tests have closed, by their options. */
const CLOSED = new WeakMap();

/**
 * An empty tab with the options of Playwright's `newPage`: one that was closed, if there is one with these options, since the
 * process of a new tab takes as long as opening the page. Its `errors` and `requests` are those since now.
 */
export async function tabOf(browser, options = {}) {
  const closed = CLOSED.get(browser) ?? new Map();
  CLOSED.set(browser, closed);
  const key = JSON.stringify(options);
  const tabs = closed.get(key) ?? [];
  closed.set(key, tabs);
  const tab = tabs.pop() ?? keptWhenClosed(await newTab(browser, options), tabs);
  tab.errors = [];
  tab.requests = [];
  return tab;
}

/** A tab that joins those that were closed, once nothing is left of what it has shown. */
function keptWhenClosed(tab, closed) {
  const close = tab.close.bind(tab);
  tab.close = async () => {
    try {
      await tab.evaluate(() => localStorage.clear());
      await tab.mouse.move(0, 0);
      await tab.goto('about:blank');
      closed.push(tab);
    } catch {
      // What runs in it does not let go of it, or has ended it.
      await close();
    }
  };
  return tab;
}

/** A tab with a process of its own. */
async function newTab(browser, options) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  tab.errors = [];
  tab.requests = [];
  tab.on('pageerror', (error) => tab.errors.push(error.message));
  tab.on('request', (request) => tab.requests.push(request.url()));
  return tab;
}

/** Opens the page from disk and waits until it shows the scene of a fragment. */
export async function open(browser, hash = '', options = {}) {
  return shown(await tabOf(browser, options), hash);
}

/** Opens the page in a tab whose process has shown nothing else, for tests of memory. */
export async function openAlone(browser, hash) {
  return shown(await newTab(browser, {}), hash);
}

/** Shows the page in a tab, and waits until it shows the scene of a fragment. */
async function shown(page, hash) {
  await page.goto(`${pathToFileURL(PAGE)}${hash}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true', null, WAITING);
  return page;
}

/** The instant that the page shows, in ps. */
export const now = (page) => page.evaluate(() => window.clearway.player.now);

/** The engine in Node, as `ask` of a request: nothing but the answer in JSON. */
export function engineInNode() {
  const target = process.env.CARGO_TARGET_DIR ?? resolve(ROOT, 'target');
  const path = process.env.CLEARWAY_ENGINE ?? `${target}/web/clearway_web.wasm`;
  const exports = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path))).exports;
  return (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    // Asking for room may move the memory.
    const room = exports.request(bytes.length);
    new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
    exports.handle();
    const reply = new Uint8Array(exports.memory.buffer, exports.reply_pointer(), exports.reply_length());
    const answer = JSON.parse(new TextDecoder().decode(reply));
    if (answer.error) throw new Error(answer.error);
    return answer;
  };
}

/** Waits until the page has nothing under way. */
export const settled = (page) =>
  page.waitForFunction(() => !window.clearway.player.playing && !window.clearway.player.working, null, WAITING);
