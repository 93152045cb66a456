import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { lookingPaths } from './looking-paths.ts';

const folder = mkdtempSync(join(tmpdir(), 'looking-paths-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the paths that a document lets one read', () => {
  it('are those of GET, with each filter alone, by what exists and what does not', () => {
    const file = join(folder, 'openapi.json');
    const query = (name: string, schema: object) => ({ name, in: 'query', schema });
    const document = {
      paths: {
        '/risks': {
          get: { parameters: [query('limit', {}), { $ref: '#/components/parameters/Status' }, query('q', {})] },
          post: {},
        },
        '/risks/{id}': { get: { parameters: [{ name: 'id', in: 'path', schema: {} }] } },
        '/risks/tail': { get: {} },
      },
      components: { parameters: { Status: query('status', { enum: ['open', 'closed'] }) } },
    };
    writeFileSync(file, JSON.stringify(document));
    expect(lookingPaths(file, { id: 'rsk_1', q: 'pay ment' })).toEqual([
      '/risks?limit=200',
      '/risks?limit=200&status=open',
      '/risks?limit=200&status=closed',
      '/risks?limit=200&q=pay%20ment',
      '/risks?limit=200&q=nosuch',
      '/risks/rsk_1',
    ]);
  });
});
