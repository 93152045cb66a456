import { describe, expect, it } from '@jest/globals';
import { openApiFaults, unreadablePatterns } from './openapi-faults.ts';

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const json = (schema: object) => ({ 'application/json': { schema } });
const text = { type: 'string' };
const thing = { type: 'object', properties: { id: text } };

interface Pieces {
  readonly schemas?: object;
  readonly parameters?: readonly object[];
  readonly shared?: object;
  readonly body?: object;
  readonly answer?: object;
}

/** A valid document with a public operation, modified by these pieces. */
function documentOf({ schemas = {}, parameters = [], shared = {}, body, answer = ref('schemas', 'Thing') }: Pieces) {
  const requestBody = body === undefined ? {} : { requestBody: { content: json(body) } };
  const responses = { 200: { content: json(answer) }, 500: ref('responses', 'Internal') };
  return {
    info: { license: {} },
    servers: [{ url: '/' }],
    paths: { '/v1/things': { get: { operationId: 'get', security: [], parameters, ...requestBody, responses } } },
    components: {
      schemas: { Thing: thing, ...schemas },
      responses: { Internal: { content: json(ref('schemas', 'Thing')) } },
      ...(Object.keys(shared).length === 0 ? {} : { parameters: shared }),
    },
  };
}

describe('openApiFaults', () => {
  it('returns none for a valid document', () => {
    expect(openApiFaults(documentOf({}))).toEqual([]);
  });

  it.each<[string, Pieces]>([
    [
      'get /v1/things: the application/json of 200 has no name',
      { answer: { type: 'object', properties: { a: text } } },
    ],
    ['the application/json of request has no name', { body: { anyOf: [{ type: 'object', properties: { b: text } }] } }],
    ['are the same object but not a component', { schemas: { Two: { allOf: [ref('schemas', 'Two'), thing] } } }],
    ['an enum without a name', { schemas: { Two: { allOf: [ref('schemas', 'Two'), { enum: ['a'] }] } } }],
    [
      'constants instead of an enum',
      { schemas: { Two: { anyOf: [{ const: 'a' }, { const: 'b' }], not: ref('schemas', 'Two') } } },
    ],
    ['the header Prefer is not a component', { parameters: [{ name: 'Prefer', in: 'header', schema: text }] }],
    ['internal names two components', { schemas: { INTERNAL: { type: 'object', not: ref('schemas', 'INTERNAL') } } }],
    ['two_words is not a valid type name', { schemas: { two_words: { not: ref('schemas', 'two_words') } } }],
    [
      'thing of Kind is also the name of a component',
      { schemas: { Kind: { enum: ['thing'], not: ref('schemas', 'Kind') } } },
    ],
    ['components/schemas/Two is never referenced', { schemas: { Two: {} } }],
  ])('reports: %s', (fault, pieces) => {
    const faults = openApiFaults(documentOf(pieces));
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });
});

describe('unreadablePatterns', () => {
  const schemaOf = (pattern: string) => ({ type: 'object', properties: { deep: { items: [{ pattern }] } } });

  it.each(['^[^\\u0000-\\u001f]*$', '^(?!a)', '(a)\\1', '^[a-z]{1,4096}$', '['])('names %s', (pattern) => {
    expect(unreadablePatterns([schemaOf(pattern)])).toEqual([expect.stringContaining(`${pattern}: `)]);
  });

  it.each(['^[^\\x00-\\x1f\\x7f]*$', '^(?:a|b){1,9}$'])('takes %s', (pattern) => {
    expect(unreadablePatterns(schemaOf(pattern))).toEqual([]);
  });

  it('takes a member called pattern for a schema', () => {
    expect(unreadablePatterns({ properties: { pattern: { type: 'string' } } })).toEqual([]);
  });
});
