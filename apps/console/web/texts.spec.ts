import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const modules = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('texts.ts'),
);

/** Each text by name; of those with values what they say with some. */
async function textsOf(module: string): Promise<[name: string, text: unknown][]> {
  const exported = (await import(join(import.meta.dirname, module))) as Record<string, unknown>;
  return Object.entries(exported).flatMap(([name, text]): [string, unknown][] => {
    if (typeof text === 'function') {
      const values = Array.from({ length: text.length }, (_, index) => `VALUE${index}`);
      return [[name, wordsOf((text as (...given: readonly string[]) => unknown)(...values))]];
    }
    return typeof text === 'object' && text !== null
      ? Object.entries(text).map(([key, inner]) => [`${name}.${key}`, inner])
      : [[name, text]];
  });
}

/** Of a sentence with elements, its words. */
function wordsOf(said: unknown): unknown {
  if (typeof said !== 'object' || said === null) return said;
  return (said as { readonly props: { readonly children: readonly string[] } }).props.children.join('');
}

describe('the texts of the console', () => {
  it('are found in each folder of pages', () => {
    expect(modules).toEqual(expect.arrayContaining(['shell/texts.ts', 'pages/texts.ts', 'pages/verify/texts.ts']));
  });

  it.each(modules)('%s has no empty text, and none with stray spaces', async (module) => {
    const texts = await textsOf(module);
    expect(texts.filter(([, text]) => typeof text !== 'string' || !/^\S+( \S+)*$/.test(text))).toEqual([]);
  });

  it.each(modules)('%s has each text once', async (module) => {
    const names = Map.groupBy(
      (await textsOf(module)).filter(([name]) => !name.includes('.')),
      ([, text]) => text,
    );
    expect([...names.values()].filter((same) => same.length > 1)).toEqual([]);
  });
});
