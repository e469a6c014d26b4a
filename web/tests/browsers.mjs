/** The page in Chromium and in Firefox, with the few calls that tests of both need. */

import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';
import { launch, PAGE, tabOf } from './browser.mjs';

const FIREFOX = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find((path) => path && existsSync(path));

/** The browsers, each with the reason why it is not tested, or false. */
export const BROWSERS = [
  { name: 'Chromium', skip: false, start: chromium },
  { name: 'Firefox', skip: FIREFOX ? false : 'Firefox is not installed (apt-get install firefox-esr)', start: firefox },
];

const WAITING = { timeout: 20_000, polling: 50 };

/**
 * Opens the page in a tab. `evaluate` runs a function in it, `press` a key, `until` waits for a function to be true, and
 * `errors` are those of its scripts.
 */
function tab(page, until) {
  return {
    errors: page.errors,
    evaluate: (work, argument) => page.evaluate(work, argument),
    press: (key) => page.keyboard.press(key),
    until,
    screenshot: (path) => page.screenshot({ path }),
    close: () => page.close(),
    async open(hash) {
      await page.goto(`${pathToFileURL(PAGE)}${hash}`);
      await until(() => document.documentElement.dataset.ready === 'true');
      return this;
    },
  };
}

async function chromium() {
  const browser = await launch();
  return {
    close: () => browser.close(),
    async open(hash, { width = 1280, height = 800, dark = false, still = false } = {}) {
      const page = await tabOf(browser, {
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: still ? 'reduce' : 'no-preference',
        ...(width < 700 ? { isMobile: true, hasTouch: true } : {}),
      });
      return tab(page, (work, argument) => page.waitForFunction(work, argument, WAITING)).open(hash);
    },
  };
}

async function firefox() {
  // A setting such as the theme of the system is one of the browser here, so each needs a browser of its own.
  const started = new Map();
  const browserOf = (dark, still) => {
    const key = `${dark} ${still}`;
    const extraPrefsFirefox = { 'ui.systemUsesDarkTheme': Number(dark), 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1, 'ui.prefersReducedMotion': Number(still) };
    if (!started.has(key)) started.set(key, puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, extraPrefsFirefox }));
    return started.get(key);
  };
  return {
    close: async () => {
      for (const browser of started.values()) await (await browser).close();
    },
    async open(hash, { width = 1280, height = 800, dark = false, still = false } = {}) {
      const page = await (await browserOf(dark, still)).newPage();
      page.errors = [];
      page.on('pageerror', (error) => page.errors.push(error.message));
      await page.setViewport({ width, height });
      return tab(page, (work, argument) => page.waitForFunction(work, WAITING, argument)).open(hash);
    },
  };
}
