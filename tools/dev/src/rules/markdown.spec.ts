import { describe, expect, it } from '@jest/globals';
import { anchorsOf, codeBlocksOf, linksOf } from './markdown.ts';

const page = `# The ledger

See [the port](../port/README.md#one-rule) and [a site](https://example.com "there"), not \`[x](y.md)\`.

## One rule: \`append\`
## One rule: \`append\`

\`\`\`ts
// # no heading [no](link.md)
import { x } from 'x';
\`\`\`
\`\`\`sh
ls
\`\`\`
`;

describe('the Markdown parser', () => {
  it('finds links in text and none in code', () => {
    expect(linksOf(page)).toEqual([
      { target: '../port/README.md#one-rule', line: 3 },
      { target: 'https://example.com', line: 3 },
    ]);
  });

  it('returns the anchors of headings', () => {
    expect([...anchorsOf(page)]).toEqual(['the-ledger', 'one-rule-append', 'one-rule-append-1']);
  });

  it('returns the code of one language', () => {
    expect(codeBlocksOf(page, 'ts')).toEqual(["// # no heading [no](link.md)\nimport { x } from 'x';\n"]);
    expect(codeBlocksOf(page, 'json')).toEqual([]);
  });
});
