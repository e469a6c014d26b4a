/** Keyboard, screen readers, phones and dark mode, in Chromium and in Firefox. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import { BROWSERS } from './browsers.mjs';

/** What the page shows in each test: a name, the address, and the keys to press then. */
const SHOWN = [
  ['the opening', '', []],
  ['a scene with the editor and a selected port', '#scenario=incast&left=dctcp&right=expresspass&t=60us&select=left.port.1', ['e']],
  ['a lesson', '#lesson=pfc', []],
  ['a large network', '#scenario=websearch&left=expresspass&right=dctcp&t=200us', []],
  ['the gallery', '#scenario=dumbbell&left=dctcp&right=none', ['g']],
  ['the help', '#scenario=lessons/incast&left=dctcp&right=expresspass&t=end', ['?']],
];
const SIZES = { 'a desktop': { width: 1280, height: 800 }, 'a phone': { width: 390, height: 844 } };
/** True where each pair of a size and colours is searched on half of what the page shows: where both browsers are there. */
const IS_HALVED = !process.env.FULL && BROWSERS.every(({ skip }) => !skip);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What axe finds: faults, a line each. */
async function faults(page) {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target }) => `${impact} ${id}: ${target.join(' ')}`));
  });
}

for (const { name, skip, start } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => {
      browser = await start();
    });
    after(() => browser.close());

    for (const dark of [false, true]) {
      for (const [size, options] of Object.entries(SIZES)) {
        // What axe finds hangs on size and colours far more than on the browser, and a search takes a busy machine 40 s: each
        // of the four pairs is searched in one browser, or with FULL=1 in both.
        const isDiagonal = dark === (size === 'a phone');
        const isChosen = process.env.FULL || isDiagonal === (name === 'Chromium');
        if (!isChosen) continue;
        // Of what the page shows, half is searched in each pair, so that all of it is seen in both sizes and in both colours.
        const shown = SHOWN.filter((_, index) => !IS_HALVED || (index % 2 === 0) === isDiagonal);
        const where = `on ${size}, ${dark ? 'dark' : 'light'}`;
        test(`axe finds no fault, of contrast or other, and nothing is wider than the page ${where}`, async () => {
          for (const [what, hash, keys] of shown) {
            const page = await browser.open(hash, { ...options, dark });
            await page.until(() => window.clearway.sides[0] !== null);
            for (const key of keys) await page.press(key);
            // Counts, paths and series follow the picture.
            await pause(600);
            assert.deepEqual(await faults(page), [], what);
            const [theme, width, scroll] = await page.evaluate(() => {
              const { dataset, clientWidth, scrollWidth } = document.documentElement;
              return [dataset.theme, clientWidth, scrollWidth];
            });
            assert.equal(theme, dark ? 'dark' : 'light');
            assert.ok(scroll <= width, `${what}: ${scroll} pixels in ${width}`);
            assert.deepEqual(page.errors, []);
            await page.close();
          }
        });
      }
    }

    test('times of a second and more are not cut off, on a desktop and on a phone', async () => {
      for (const options of Object.values(SIZES)) {
        const page = await browser.open('#scenario=lessons/incast&left=dctcp&right=none', options);
        // Once the end of the run is known, nothing but this test moves the clock.
        await page.until(() => window.clearway.sides[0]?.end !== null && !window.clearway.player.working);
        for (const ps of [0, 1e12, 15.25e12, 123.456789e12, 99_999e12]) {
          const [shown, room, needed] = await page.evaluate((ps) => {
            const { player } = window.clearway;
            player.now = ps;
            player.pause();
            return new Promise((resolve) =>
              requestAnimationFrame(() =>
                requestAnimationFrame(() => {
                  const field = document.querySelector('.time');
                  const { paddingLeft, paddingRight, borderLeftWidth, borderRightWidth, font } = getComputedStyle(field);
                  const context = document.createElement('canvas').getContext('2d');
                  context.font = font;
                  const edges = [paddingLeft, paddingRight, borderLeftWidth, borderRightWidth].map(Number.parseFloat);
                  const room = edges.reduce((rest, edge) => rest - edge, field.getBoundingClientRect().width);
                  resolve([field.value, room, context.measureText(field.value).width]);
                }),
              ),
            );
          }, ps);
          assert.equal(Number(shown.replace(/[^\d.]/g, '')), Number((ps / 1e6).toFixed(3)));
          assert.ok(needed <= room, `${shown} takes ${needed} of ${room} pixels at ${options.width}`);
        }
        await page.close();
      }
    });

    test('the gallery works by keys: the present scene has the focus, Tab goes on, Enter opens, Escape closes', async () => {
      const page = await browser.open('#lesson=credits');
      await page.until(() => window.clearway.sides[0] !== null);
      await page.press('g');
      await page.until(() => document.querySelector('dialog.gallery').open);
      const focused = () => page.evaluate(() => document.activeElement.dataset.scene);
      assert.equal(await focused(), 'lesson:credits');
      await page.press('Escape');
      assert.equal(await page.evaluate(() => document.querySelector('dialog.gallery').open), false);
      await page.press('g');
      await page.press('Tab');
      assert.equal(await focused(), 'lesson:convergence');
      await page.press('Enter');
      await page.until(() => window.clearway.view.lesson === 'convergence' && window.clearway.sides[0] !== null);
      assert.equal(await page.evaluate(() => document.querySelector('dialog.gallery').open), false);
      await page.close();
    });

    test('a slider works by keys and says its value with its unit', async () => {
      const page = await browser.open('#scenario=lessons/incast&left=dctcp&right=expresspass&t=60us');
      await page.until(() => document.querySelector('.knobs input') !== null);
      const rate = () => page.evaluate(() => [...document.querySelectorAll('.knobs input')].at(-1).getAttribute('aria-valuetext'));
      await page.evaluate(() => [...document.querySelectorAll('.knobs input')].at(-1).focus());
      assert.equal(await rate(), '10 Gbps');
      await page.press('ArrowRight');
      await page.until(() => window.clearway.sides.every((side) => side?.layout.ports[0].rate_bps === 25e9 && side.frame.nowPs === 60e6));
      assert.equal(await rate(), '25 Gbps');
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-valuetext')), '25 Gbps', 'it keeps the focus');
      assert.deepEqual(page.errors, []);
      await page.close();
    });

    test('where the system asks for little motion the page opens still', async () => {
      const page = await browser.open('', { still: true });
      await pause(300);
      assert.deepEqual(await page.evaluate(() => [window.clearway.player.now, document.querySelectorAll('.moments li').length]), [0, 6]);
      assert.deepEqual(await faults(page), []);
      await page.close();
    });

    test('the picture moves, and the end has the hash of the other browser', async () => {
      const page = await browser.open('#scenario=lessons/incast&left=dctcp&right=expresspass&speed=100');
      await page.press(' ');
      await page.until(() => window.clearway.player.now > 20e6);
      await page.evaluate(() => window.clearway.player.seek(1e12));
      await page.until(() => document.querySelectorAll('code[data-hash]').length === 2);
      const hashes = await page.evaluate(() => [...document.querySelectorAll('code[data-hash]')].map((code) => code.textContent));
      HASHES.push(hashes);
      assert.deepEqual(hashes, HASHES[0]);
      await page.close();
    });
  });
}

/** The hashes that the browsers gave so far. */
const HASHES = [];
