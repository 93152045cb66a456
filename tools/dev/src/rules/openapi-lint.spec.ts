import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { workspaceRoot } from '../workspace.ts';
import { projectFiles, readProjectFile } from './project-files.ts';

const documents = projectFiles().filter((path) => path.endsWith('openapi.json'));
const config = await createConfig({ extends: ['recommended'] });

/** Findings of Redocly's recommended rules: `<severity> <rule>: <message> <location>`. */
async function faultsOf(path: string, source: string): Promise<string[]> {
  const found = await lintFromString({ source, absoluteRef: join(workspaceRoot, path), config });
  return found.map(({ severity, ruleId, message, location }) => {
    const place = location[0] && 'pointer' in location[0] ? location[0].pointer : '';
    return `${severity} ${ruleId}: ${message} ${String(place)}`;
  });
}

/** Accepted warnings. Any other finding fails. */
const MEANT = [
  // C2SP tiles: an epoch's name distinguishes `/{epoch}/tile/...` from `/tile/...`.
  /^warn no-ambiguous-paths: .*\/ledger\/\{channel\}\//,
  // The literal segment wins, and no id of a person is `invitations`.
  /^warn no-ambiguous-paths: .*`\/api\/people\/invitations\/\{id\}`/,
  // Sign-in pages answer with a redirect or an error.
  /^warn operation-2xx-response: .*#\/paths\/~1(?:sign-in|signed-in)\/get\//,
];

describe('the OpenAPI documents', () => {
  it('cover nine listeners', () => {
    expect(documents).toHaveLength(9);
  });

  it.each(documents)('%s keeps the recommended rules of Redocly', async (path) => {
    const faults = await faultsOf(path, readProjectFile(path));
    expect(faults.filter((fault) => !MEANT.some((meant) => meant.test(fault)))).toEqual([]);
  });

  it('are caught with an operation without schema, security or parameters', async () => {
    const path = '/things/{id}';
    const source = {
      openapi: '3.1.0',
      info: { title: 'x', version: '1' },
      paths: { [path]: { get: { responses: { 200: {} } } } },
    };
    const rules = (await faultsOf('made-up.json', JSON.stringify(source))).map((fault) => fault.split(':')[0]);
    expect(rules).toEqual(
      expect.arrayContaining(['error struct', 'error security-defined', 'error path-parameters-defined']),
    );
  });
});
