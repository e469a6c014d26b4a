/** Takes the picture of the live page for the documentation: `npm run pictures`, then look at them. */

import { join } from 'node:path';
import { launch, open, ROOT, settled } from './browser.mjs';

const browser = await launch();

async function take(name, hash, us, select) {
  const page = await open(browser, hash, { viewport: { width: 1280, height: 800 } });
  await page.evaluate((at) => window.clearway.player.seek(at * 1e6), us);
  await settled(page);
  // Counts, paths and series follow the picture, and so does the end of the run.
  await page.waitForFunction(() => window.clearway.player.end !== null);
  await page.waitForTimeout(1500);
  const { x, y, width, height } = await page.evaluate(select);
  await page.screenshot({ path: join(ROOT, 'docs/img', `${name}.png`), clip: { x, y, width, height } });
  await page.close();
}

await take('live-page', '#scenario=incast&left=expresspass&right=dctcp&select=left.port.1', 60, () => ({
  x: 0,
  y: 0,
  width: 1280,
  height: 800,
}));
await browser.close();
