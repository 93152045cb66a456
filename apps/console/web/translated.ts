import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Plugin } from 'vite';

/** Takes `texts.<language>.ts` in place of `texts.ts`, for each module that has one. */
export const translated = (language: string): Plugin => ({
  name: 'translated',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.endsWith('texts.ts')) return null;
    const file = resolve(dirname(importer), source.replace(/ts$/, `${language}.ts`));
    return existsSync(file) ? file : null;
  },
});
