/** Takes the screenshots of the lessons for the documentation, on a desktop and on a phone: `node web/tools/lessons.mjs`.
 *
 * Each shows the instant that the field `picture` of the lesson names. `make web` builds the page before.
 */

import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { launch, open, ROOT, settled } from '../tests/browser.mjs';

const LESSONS = resolve(ROOT, 'docs/lessons');
const PICTURES = resolve(ROOT, 'docs/img/lessons');
const SCREENS = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5, hasTouch: true, isMobile: true },
};

/** The instant of a lesson's picture, in ps. */
function instant(name) {
  const found = /^picture: ([\d.]+) us$/m.exec(readFileSync(resolve(LESSONS, `${name}.md`), 'utf8'));
  if (!found) {
    throw new Error(`docs/lessons/${name}.md: the field picture is missing; write a time such as "60 us"`);
  }
  return Number(found[1]) * 1e6;
}

mkdirSync(PICTURES, { recursive: true });
const browser = await launch();
for (const file of readdirSync(LESSONS).filter((file) => file !== 'README.md')) {
  const name = file.replace(/\.md$/, '');
  for (const [screen, options] of Object.entries(SCREENS)) {
    const page = await open(browser, `#lesson=${name}`, options);
    await page.evaluate((at) => window.clearway.player.seek(at), instant(name));
    await settled(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: resolve(PICTURES, `${name}-${screen}.png`) });
    await page.close();
  }
}
await browser.close();
