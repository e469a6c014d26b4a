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

/** Opens the page from disk and waits until it shows the scene of a fragment. */
export async function open(browser, hash = '', options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.errors = [];
  page.requests = [];
  page.on('pageerror', (error) => page.errors.push(error.message));
  page.on('request', (request) => page.requests.push(request.url()));
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
