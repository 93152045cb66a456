import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkOpenApiFile } from '@sealgate/http';
import type { JsonValue } from '@sealgate/json';
import { checkConfigTable, migrationFields } from '@sealgate/service-host';
import { openApiFaults } from '@sealgate/testing';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { fields, readConfig } from './config.ts';
import { parseSubmission } from './domain/parse-record.ts';
import { adminDescription, publicDescription } from './openapi.ts';

const folder = join(import.meta.dirname, '..');
// `UPDATE_DOCUMENTS=1 npx jest documents` updates them.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

describe('the documents of the gateway match the code', () => {
  it('openapi.json', () => checkOpenApiFile(join(folder, 'openapi.json'), publicDescription(), { write }));
  it('admin-openapi.json', () => checkOpenApiFile(join(folder, 'admin-openapi.json'), adminDescription(), { write }));
  it('suit code generators and linters', () => {
    expect([publicDescription(), adminDescription()].flatMap(openApiFaults)).toEqual([]);
  });
  it('the table of variables in the README', () => {
    const { migrationDatabaseUrl } = migrationFields;
    checkConfigTable(join(folder, 'README.md'), { ...fields, migrationDatabaseUrl }, { write });
  });
});

describe('the forms of a body in openapi.json', () => {
  const { components, paths } = publicDescription() as unknown as {
    components: { schemas: Record<string, object> };
    paths: Record<string, { post: { requestBody: { content: { 'application/json': { schema: object } } } } }>;
  };
  const { schema } = paths['/{networkId}']!.post.requestBody.content['application/json'];
  const fits = new Ajv({ strict: true, allowUnionTypes: true, keywords: ['components'] }).compile({
    ...schema,
    components,
  });
  const isTaken = (body: JsonValue): boolean => {
    try {
      return parseSubmission(body, { record: 'envelope', defaultType: undefined }, 100) !== undefined;
    } catch {
      return false;
    }
  };

  it('are named', () => {
    expect(schema).toEqual({
      anyOf: ['Ping', 'IngestRecord', 'IngestBatch', 'BareJson'].map((name) => ({
        $ref: `#/components/schemas/${name}`,
      })),
    });
    const records = ['IngestRecord', 'BareJson'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
    expect(components.schemas).toMatchObject({
      IngestBatch: { properties: { assets: { items: { anyOf: records } } } },
    });
  });

  it.each<[string, JsonValue]>([
    ['an id that is a number', { id: 7 }],
    ['an empty type', { type: '' }],
    ['a type that is too long', { type: 'x'.repeat(129) }],
    ['a control character in an owner', { owner: 'a\nb' }],
    ['data that is a list', { data: [] }],
    ['no channel', { targetChannels: [] }],
    ['a channel twice', { targetChannels: ['a', 'a'] }],
    ['nine channels', { targetChannels: [...'123456789'] }],
  ])('refuse %s, as the parser does', (_what, record) => {
    expect([fits(record), isTaken(record)]).toEqual([false, false]);
    expect(isTaken({ assets: [record] })).toBe(false);
  });

  it('refuse nothing that the parser accepts', () => {
    const member = fc.oneof(
      fc.tuple(fc.constantFrom('id', 'type', 'owner'), fc.oneof(fc.string({ unit: 'binary' }), fc.constant('ping'))),
      fc.tuple(fc.constant('data'), fc.oneof(fc.dictionary(fc.string(), fc.integer()), fc.integer())),
      fc.tuple(fc.constant('targetChannels'), fc.array(fc.string(), { maxLength: 9 })),
      fc.tuple(fc.string(), fc.jsonValue({ maxDepth: 1 })),
    );
    const object = fc.array(member, { maxLength: 4 }).map((members) => Object.fromEntries(members) as JsonValue);
    const batch = fc.array(fc.oneof(object, fc.jsonValue({ maxDepth: 1 })), { maxLength: 3 });
    const body = fc.oneof(
      object,
      fc.jsonValue({ maxDepth: 2 }),
      batch.map((assets) => ({ assets }) as JsonValue),
    );
    fc.assert(
      fc.property(body as fc.Arbitrary<JsonValue>, (value) => {
        if (isTaken(value)) expect(fits(value)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the configuration', () => {
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
  };

  it('needs a database, secrets and an origin, and has a default for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      port: 8080,
      maxBatchRecords: 100,
      bodyMaxBytes: 1_048_576,
      rateBurst: 2000,
    });
  });

  it.each<[string, Record<string, string>]>([
    ['RATE_BURST', { RATE_BURST: '99' }],
    ['LEDGER_DRIVER', { LEDGER_DRIVER: 'fabric' }],
    ['CHECKPOINT_DIR', { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: 'PRIVATE+KEY+x' }],
    ['LEDGER_SIGNING_KEY', { LEDGER_INTEGRATOR: 'true', CHECKPOINT_DIR: '/tmp' }],
    ['LEDGER_ORIGINS', { LEDGER_ORIGINS: 'typo' }],
  ])('refuses a wrong %s by name', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
  });

  it('reports all faults at once, and no value of a secret', () => {
    const wrong = { ...env, DATABASE_URL: 'mysql://secret', PORT: 'x', SERVER_SECRETS: 's1:short-secret' };
    expect(() => readConfig(wrong)).toThrow(/PORT[\s\S]*DATABASE_URL[\s\S]*SERVER_SECRETS/);
    expect(() => readConfig(wrong)).not.toThrow(/short-secret|mysql/);
  });
});
