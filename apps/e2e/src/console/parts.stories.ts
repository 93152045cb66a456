import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { ConsoleStack } from './start-stack.ts';

const readme = readFileSync(resolve(import.meta.dirname, '../../../console/README.md'), 'utf8');
/** The table of the README: name, address, role and content of each part. */
const rows = [...readme.matchAll(/^\| ([^|]+) \| `(\/[a-z]+)` \| ([a-z]*) ?\| ([^|]+) \|$/gm)].map(
  ([, title = '', path = '', role = '', text = '']) => ({ title, path, role, text }),
);

/** The last is how windows are opened. */
const SIZES = [
  [390, 'dark'],
  [1440, 'light'],
] as const;
const pictureOf = (path: string, width: number): string => `part-${path.slice(1)}-${width}.png`;

/** A picture of each part in the README, with its description. */
export function partsStories(stack: () => ConsoleStack): void {
  describe('the parts of the console', () => {
    it('are those of the README, in its order', async () => {
      await stack().visit('operator', '/home', async (page) => {
        const menu = page.getByRole('navigation', { name: 'Parts of the console' }).getByRole('link');
        await menu.filter({ hasText: 'Home' }).waitFor();
        const names = (await menu.allTextContents()).map((text) => text.trim());
        // The operator is in no organisation.
        expect(names).toEqual(rows.map(({ title }) => title).filter((title) => title !== 'Risks'));
      });
    }, 60_000);

    it.each(rows)(
      'have a picture of $title',
      async ({ path, role }) => {
        await stack().visit(role === '' ? undefined : role, path, async (page) => {
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.waitForLoadState('networkidle');
          for (const [width, colorScheme] of SIZES) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width, height: 900 });
            await page.screenshot({ path: join(stack().pictures, pictureOf(path, width)) });
          }
        });
      },
      120_000,
    );

    it('are shown on one page', () => {
      const shown = rows.map(
        ({ title, path, text }) =>
          `<h2>${title}</h2><p>${text}</p><img alt="${title}" width="720" src="${pictureOf(path, 1440)}">` +
          `<img alt="${title}, small and dark" width="195" src="${pictureOf(path, 390)}">`,
      );
      const html = `<!doctype html><meta charset="utf-8"><title>The console</title><h1>The console</h1>${shown.join('\n')}`;
      writeFileSync(join(stack().pictures, 'console.html'), html);
      expect(rows).toHaveLength(10);
    });
  });
}
