/** At the end of a run the page says what was found, in the sentences of `clearway compare`. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { ROOT, launch, open } from './browser.mjs';

test('at the end of both runs the page says what the command says', async () => {
  const python = resolve(ROOT, '.venv/bin/python');
  const transports = ['expresspass', 'dctcp'];
  const compared = `import clearway; print("\\n".join(clearway.compare("incast", ["${transports.join('", "')}"]).findings))`;
  const said = execFileSync(python, ['-c', compared], { encoding: 'utf8' }).trim().split('\n');
  assert.ok(said.length >= 2 && said[0].startsWith('expresspass is ahead'), said[0]);
  const browser = await launch();
  try {
    const page = await open(browser, `#scenario=incast&left=${transports[0]}&right=${transports[1]}`);
    const list = page.locator('.findings li');
    assert.equal(await list.count(), 0, 'nothing is said before the end');
    await page.evaluate(() => window.clearway.player.seek(Number.POSITIVE_INFINITY, false));
    await list.first().waitFor();
    assert.deepEqual(await list.allTextContents(), said);
    await page.evaluate(() => window.clearway.player.seek(0, false));
    await list.first().waitFor({ state: 'hidden' });
    assert.deepEqual(page.errors, []);
  } finally {
    await browser.close();
  }
});
