import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { isFull } from '../harness/scale.ts';
import type { ConsoleStack } from './start-stack.ts';

/**
 * Contrast depends on colours and layout on width: two of the four cover both, and axe is slow on long lists. The last
 * is how windows are opened.
 */
const VIEWS = [
  { colorScheme: 'light', width: 390, isJudged: false },
  { colorScheme: 'dark', width: 390, isJudged: true },
  { colorScheme: 'dark', width: 1440, isJudged: false },
  { colorScheme: 'light', width: 1440, isJudged: true },
] as const;

/** Asked two frames after a change, when media queries and observers have acted. */
const SCROLLS_SIDEWAYS = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(
  () => document.documentElement.scrollWidth > innerWidth,
)`;

/**
 * Marks text that has the colours and font of a text before it, on surroundings that have the same: its contrast is
 * the same. Most text is in rows of lists, and its contrast takes axe longer than all other rules.
 */
const MARK_ALIKE = `{
  const numbers = new Map();
  const lookOf = new Map();
  const judged = new Set();
  for (const element of document.querySelectorAll('*')) {
    const style = getComputedStyle(element);
    const look = JSON.stringify([
      lookOf.get(element.parentElement), element.localName, element.matches(':disabled, [aria-disabled="true"]'),
      style.color, style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.textShadow,
      style.fontSize, style.fontWeight, style.position, style.clipPath,
    ]);
    if (!numbers.has(look)) numbers.set(look, numbers.size);
    lookOf.set(element, numbers.get(look));
    element.toggleAttribute('data-alike', judged.has(look));
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (hasText && element.checkVisibility()) judged.add(look);
  }
}`;

const CONFIGURATION = { rules: [{ id: 'color-contrast', selector: '*:not([data-alike])' }] };
const OPTIONS = {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  resultTypes: ['violations'],
};
const JUDGE = `axe.run(document, ${JSON.stringify(OPTIONS)}).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ' at ' + nodes.map(({ target }) => target.join(' ')).join(', ')),
)`;

/**
 * Returns the faults found by axe (WCAG 2.2 AA) and whether the page scrolls sideways, at 390 and 1440 px, light and
 * dark. In a full run it also takes screenshots, for people to look at.
 */
export async function looksOf(
  page: Page,
  { pictures }: Pick<ConsoleStack, 'pictures'>,
  name: string,
): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate(`${axe.source}; axe.configure(${JSON.stringify(CONFIGURATION)})`);
  for (const { colorScheme, width, isJudged } of VIEWS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const at = `${name}-${width}-${colorScheme}`;
    if (isFull) await page.screenshot({ path: join(pictures, `${at}.png`), fullPage: true });
    if (await page.evaluate<boolean>(SCROLLS_SIDEWAYS)) faults.push(`${at}: scrolls sideways`);
    if (!isJudged) continue;
    await page.evaluate(MARK_ALIKE);
    faults.push(...(await page.evaluate<string[]>(JUDGE)).map((fault) => `${at}: ${fault}`));
  }
  return faults;
}

/** The answer to a second client without the browser's session. */
export async function askedBy(
  key: string,
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; json: unknown }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers };
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(20_000) });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
