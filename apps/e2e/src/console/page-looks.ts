import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import type { ConsoleStack } from './start-stack.ts';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/**
 * Takes screenshots of the page at 390 and 1440 px, light and dark. Returns the faults found by axe (WCAG 2.2 AA) and
 * whether the page scrolls sideways.
 */
export async function looksOf(
  page: Page,
  { pictures }: Pick<ConsoleStack, 'pictures'>,
  name: string,
): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [390, 1440]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      const at = `${name}-${width}-${colorScheme}`;
      await page.screenshot({ path: join(pictures, `${at}.png`), fullPage: true });
      if (await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
        faults.push(`${at}: scrolls sideways`);
      // Contrast depends on colours and layout on width: two of the four cover both, and axe is slow on long lists.
      if ((width === 390) !== (colorScheme === 'dark')) continue;
      const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
      for (const { id, nodes } of violations)
        faults.push(`${at}: ${id} at ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
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
