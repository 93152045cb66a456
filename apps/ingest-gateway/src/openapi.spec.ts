import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { DEFAULT_LIMITS, parseSubmission } from './domain/read-submission.ts';
import { publicDescription } from './openapi.ts';

describe('the request body schemas in openapi.json', () => {
  const { components, paths } = publicDescription() as unknown as {
    components: { schemas: Record<string, object> };
    paths: Record<string, { post: { requestBody: { content: { 'application/json': { schema: object } } } } }>;
  };
  const { schema } = paths['/{networkId}']!.post.requestBody.content['application/json'];
  const fits = new Ajv({
    strict: true,
    allowUnionTypes: true,
    keywords: ['components'],
    formats: { double: true },
  }).compile({
    ...schema,
    components,
  });
  const isAccepted = (body: JsonValue): boolean => {
    try {
      return parseSubmission(body, { record: 'envelope', limits: DEFAULT_LIMITS }) !== undefined;
    } catch {
      return false;
    }
  };

  it('are named components', () => {
    const oneOf = (...names: string[]) => ({ anyOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) });
    expect(schema).toEqual({ $ref: '#/components/schemas/IngestRequest' });
    expect(components.schemas).toMatchObject({
      IngestRequest: oneOf('Ping', 'IngestRecord', 'IngestBatch', 'BareJson'),
      IngestBatch: { properties: { assets: { items: { $ref: '#/components/schemas/BatchItem' } } } },
      BatchItem: oneOf('IngestRecord', 'BareJson'),
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
  ])('reject %s, as the parser does', (_what, record) => {
    expect([fits(record), isAccepted(record)]).toEqual([false, false]);
    expect(isAccepted({ assets: [record] })).toBe(false);
  });

  it('accept everything that the parser accepts', () => {
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
        if (isAccepted(value)) expect(fits(value)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the answers of a delivery in openapi.json', () => {
  const { components, paths } = publicDescription() as unknown as {
    components: { responses: Record<string, unknown> };
    paths: Record<string, { post: { parameters: { $ref?: string }[]; responses: Record<string, { $ref?: string }> } }>;
  };
  const { parameters, responses } = paths['/hooks/{sourceId}']!.post;

  it('are those of a delivery: a conflict is 200 and never 422, and no Idempotency-Key is read', () => {
    expect(JSON.stringify(parameters)).not.toContain('IdempotencyKey');
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '408',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
    const names = ['400', '422'].map((status) => responses[status]!.$ref!.split('/').at(-1));
    expect(names).toEqual(['InvalidJsonOrInvalidRequestWithRateLimit', 'UnknownChannelWithRateLimit']);
    expect(names.every((name) => components.responses[name!] !== undefined)).toBe(true);
  });
});
