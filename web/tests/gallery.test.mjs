/** The gallery: which cards it has, what stands on them, and what they open. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from '@decimalturn/toml-patch';
import { launch, open, ROOT } from './browser.mjs';

const EXAMPLES = parse(readFileSync(resolve(ROOT, 'python/clearway/data/examples.toml'), 'utf8')).question;
const SCENARIOS = readdirSync(resolve(ROOT, 'scenarios')).filter((name) => name.endsWith('.toml'));

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** The groups of the gallery with their cards. */
const shown = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('dialog.gallery section')].map((section) => ({
      title: section.querySelector('h3').textContent,
      cards: [...section.querySelectorAll('.scene-card')].map((card) => ({
        scene: card.dataset.scene,
        title: card.querySelector('.title').textContent,
        sentence: card.querySelector('.sentence').textContent,
      })),
    })),
  );

test('lessons come first, then every scenario under the question and with the sentence of the list of examples', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.getByRole('button', { name: /^Gallery, now:\s*dumbbell$/ }).click();
  const [lessons, ...questions] = await shown(page);
  assert.equal(lessons.title, 'Lessons');
  assert.equal(lessons.cards.length, 6);
  const examples = EXAMPLES.flatMap(({ example }) => example);
  for (const { scene, sentence } of lessons.cards) {
    const name = scene.replace('lesson:', '');
    assert.equal(sentence, examples.find((one) => one.file === `lessons/${name}.toml`).shows);
  }
  const expected = EXAMPLES.map(({ ask, example }) => ({
    title: ask,
    cards: example
      .filter(({ file }) => SCENARIOS.includes(file))
      .map(({ name, shows }) => ({ scene: name, title: name, sentence: shows })),
  })).filter(({ cards }) => cards.length > 0);
  assert.deepEqual(questions, expected);
  assert.equal(questions.flatMap(({ cards }) => cards).length, SCENARIOS.length, 'each scenario has one card');
  const titles = [lessons, ...questions].flatMap(({ cards }) => cards.map(({ title }) => title.toLowerCase()));
  assert.equal(new Set(titles).size, titles.length, 'no two cards have one name');
  await page.close();
});

test('each card gets a picture, and none of them fails', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.keyboard.press('g');
  /** The cards whose canvas is blank. */
  const blank = () =>
    [...document.querySelectorAll('.scene-card')]
      .filter((card) => {
        const canvas = card.querySelector('canvas');
        if (canvas.width === 0) return true;
        return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.every((part) => part === 0);
      })
      .map((card) => card.dataset.scene);
  await page.waitForFunction(`(${blank})().length === 0`, null, { timeout: 60_000, polling: 500 });
  assert.deepEqual(await page.evaluate(blank), []);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a card opens its scene, and a lesson with its sentences', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.keyboard.press('g');
  await page.locator('[data-scene="parking-lot"]').click();
  await page.waitForFunction(() => window.clearway.sides[1]?.layout.transports[0] === 'naive-credit');
  assert.equal(await page.locator('.scene-name').textContent(), 'parking-lot');
  await page.keyboard.press('g');
  assert.equal(await page.locator('.scene-card[aria-current]').getAttribute('data-scene'), 'parking-lot');
  await page.locator('[data-scene="lesson:incast"]').click();
  await page.waitForFunction(() => window.clearway.view.lesson === 'incast' && window.clearway.sides[1] !== null);
  assert.equal(await page.locator('.guide article h3').textContent(), 'An incast of eight hosts');
  await page.close();
});
