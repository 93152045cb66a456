import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { workspaceRoot } from '../workspace.ts';
import { projectFiles, readProjectFile } from './project-files.ts';

const documents = projectFiles().filter((path) => path.endsWith('openapi.json'));
const config = await createConfig({ extends: ['recommended'] });

/** What Redocly's recommended rules say of a document: `<severity> <rule>: <message> <where>`. */
async function faultsOf(path: string, source: string): Promise<string[]> {
  const found = await lintFromString({ source, absoluteRef: join(workspaceRoot, path), config });
  return found.map(({ severity, ruleId, message, location }) => {
    const place = location[0] && 'pointer' in location[0] ? location[0].pointer : '';
    return `${severity} ${ruleId}: ${message} ${String(place)}`;
  });
}

/** Warnings that are meant. Anything else is an error here, so that a new kind is looked at once. */
const MEANT = [
  // The tiles of C2SP: `/{epoch}/tile/...` is told from `/tile/...` by what an epoch is called.
  /^warn no-ambiguous-paths: .*\/ledger\/\{channel\}\//,
  // Pages of the sign-in answer with a redirect, or a refusal.
  /^warn operation-2xx-response: .*#\/paths\/~1(?:sign-in|signed-in)\/get\//,
];

describe('the OpenAPI documents', () => {
  it('are those of nine listeners', () => {
    expect(documents).toHaveLength(9);
  });

  it.each(documents)('%s keeps the recommended rules of Redocly', async (path) => {
    const faults = await faultsOf(path, readProjectFile(path));
    expect(faults.filter((fault) => !MEANT.some((meant) => meant.test(fault)))).toEqual([]);
  });

  it('are caught with an operation that names no schema, security or parameter rightly', async () => {
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
