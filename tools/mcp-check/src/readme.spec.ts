import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { inspectorCases } from './inspector/inspector-cases.ts';
import { conformanceTable, inspectorTable } from './render-tables.ts';
import { madeUpFacts } from './made-up-facts.fixture.ts';

const file = join(import.meta.dirname, '../README.md');
// `UPDATE_DOCUMENTS=1 npx jest tools/mcp-check/src/readme` writes what has changed.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

describe('the tables of the README', () => {
  it.each([
    ['inspector', inspectorTable(inspectorCases(madeUpFacts()))],
    ['conformance', conformanceTable()],
  ])('%s says what is expected', (name, table) => {
    const readme = readFileSync(file, 'utf8');
    const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
    const [before = '', rest = ''] = readme.split(begin);
    const [, after = ''] = rest.split(end);
    const current = `${before}${begin}\n\n${table}\n\n${end}${after}`;
    if (write) writeFileSync(file, current);
    else expect(readme).toBe(current);
  });
});
