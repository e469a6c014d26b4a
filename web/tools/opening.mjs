/**
 * Records the opening of the live page for the front page of the documentation: `node web/tools/opening.mjs`.
 *
 * Writes docs/img/opening.webp, which moves, and docs/img/opening.png for readers who want little motion. It needs
 * `img2webp` (apt-get install webp); `make web` builds the page before.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, ROOT } from '../tests/browser.mjs';

/** The time between two pictures, the time for which the last one stands, and the quality of the pictures. */
const EVERY_MS = 200;
const LAST_MS = 4000;
const QUALITY = 50;
/** The simulated time in us of the still picture: both queues are at their longest. */
const STILL_US = 30;

const folder = mkdtempSync(join(tmpdir(), 'opening-'));
const browser = await launch();
const page = await open(browser, '', { viewport: { width: 1000, height: 900 } });
const clip = await page.evaluate(() => {
  const boxes = ['.captions', '.panes'].map((part) => document.querySelector(part).getBoundingClientRect());
  const top = Math.min(...boxes.map((box) => box.top));
  return { x: 0, y: top - 8, width: 1000, height: Math.max(...boxes.map((box) => box.bottom)) - top + 16 };
});
const pictures = [];
for (;;) {
  const path = join(folder, `${String(pictures.length).padStart(4, '0')}.png`);
  const begun = Date.now();
  await page.screenshot({ path, clip });
  const { now, ended } = await page.evaluate(() => ({ now: window.clearway.player.now, ended: window.clearway.player.ended }));
  // At the end the page offers what comes next, which is not a part of the scene.
  if (ended) break;
  pictures.push({ path, begun, now });
  await page.waitForTimeout(Math.max(0, EVERY_MS - (Date.now() - begun)));
}
await browser.close();
copyFileSync(pictures.find(({ now }) => now >= STILL_US * 1e6).path, join(ROOT, 'docs/img/opening.png'));

const shown = pictures.flatMap(({ path, begun }, index) => {
  const next = pictures[index + 1]?.begun ?? begun + LAST_MS;
  return ['-d', String(next - begun), path];
});
execFileSync('img2webp', ['-loop', '0', '-lossy', '-q', String(QUALITY), '-m', '6', ...shown, '-o', join(ROOT, 'docs/img/opening.webp')]);
rmSync(folder, { recursive: true });
