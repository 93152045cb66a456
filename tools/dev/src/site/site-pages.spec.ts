import { describe, expect, it } from '@jest/globals';
import { pageOf, sitePages } from './site-pages.ts';

const linked: string[] = [];
const changed = (text: string): string => pageOf('tools/dev/README.md', text, (path) => linked.push(path));

describe('a page of the site', () => {
  it('links to pages, to the index of a folder, to source files shown as pages, and to headings', () => {
    expect(changed('[a](../../README.md#words) [b](src/main.ts) [c](src/rules) [d](../bench/RESULTS.md "t")')).toBe(
      '[a](./../../index.md#words) [b](./src/main.ts.md) [c](./src/rules/index.md) [d](./../bench/RESULTS.md "t")'.replaceAll(
        './../',
        '../',
      ),
    );
    expect(linked.splice(0)).toEqual([
      'README.md',
      'tools/dev/src/main.ts',
      'tools/dev/src/rules',
      'tools/bench/RESULTS.md',
    ]);
    expect(changed('[x](https://example.com/a.md) [y](#npm-test) [z](mailto:a@example.com)')).toBe(
      '[x](https://example.com/a.md) [y](#npm-test) [z](mailto:a@example.com)',
    );
  });

  it('serves large files as they are', () => {
    expect(changed('[x](../../package-lock.json)')).toBe('[x](../../package-lock.json)');
    expect(changed('![x](../../infra/pictures/sealgate.svg)')).toBe('![x](../../infra/pictures/sealgate.svg)');
  });

  it('has no comments, and unchanged code', () => {
    const code = '```sh\n# [x](nowhere.md) <!-- kept -->\n```\n';
    expect(changed(`a <!-- gone --> b\n${code}c \`[x](nowhere.md)\` d`)).toBe(`a  b\n${code}c \`[x](nowhere.md)\` d`);
  });

  it('is rejected with a broken link', () => {
    expect(() => changed('[x](nowhere.md)')).toThrow('tools/dev/README.md links to nowhere.md, which does not exist.');
  });
});

describe('the pages of the site', () => {
  it('are the Markdown files and their link targets', () => {
    const pages = sitePages();
    expect(pages.get('index.md')).toMatchObject({ text: expect.stringContaining('# Sealgate') });
    expect(pages.get('LICENSE.md')).toMatchObject({ text: expect.stringContaining('Apache License') });
    expect(pages.get('infra/pictures/sealgate.svg')).toEqual({ copyOf: 'infra/pictures/sealgate.svg' });
    expect(pages.get('public/apps/case-gate/openapi.json')).toEqual({ copyOf: 'apps/case-gate/openapi.json' });
    expect(pages.get('apps/risk-partner/src/routes/index.md')).toMatchObject({
      text: expect.stringContaining('`whoami.ts`'),
    });
  });
});
