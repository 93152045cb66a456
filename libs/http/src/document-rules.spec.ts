import { describe, expect, it } from '@jest/globals';
import { Type, type TSchema } from '@sinclair/typebox';
import { plain, testRoute } from '../test/test-surface.ts';
import { documentFaults, schemaFaults } from './document-rules.ts';
import { closedObject, named, openApi, type Route } from './index.ts';

const taking = (body: TSchema) =>
  testRoute({
    ...plain,
    method: 'put',
    path: '/v1/things',
    operationId: 'putThing',
    body,
    bodyMaxBytes: 10,
    responses: { 200: { description: 'Put.' } },
    handler: () => ({ status: 200 }),
  });
const documentOf = (...routes: readonly object[]) =>
  openApi({
    title: 'Things',
    version: '1.2.3',
    description: 'About things.',
    routes: routes as Route<never>[],
    securityScheme: 'Bearer',
  });

describe('documentFaults', () => {
  it('names a JSON body that no component is: generated clients lose the methods of an inline union', () => {
    const union = { anyOf: [{ type: 'string' }, { type: 'integer' }] };
    const json = (schema: object) => ({ content: { 'application/json': { schema } } });
    const put = { operationId: 'putThing', requestBody: json(union), responses: { 200: json({ type: 'string' }) } };
    expect(documentFaults({ paths: { '/v1/things': { put } } } as never)).toEqual([
      'putThing: the application/json request body is not a named component',
      'putThing: the application/json answer 200 is not a named component',
      expect.stringContaining('a union of several forms must be a named component'),
    ]);
  });

  it('is empty for bodies of every kind: the generator names each after its operation', () => {
    const [text, number] = [Type.String(), Type.Number({ format: 'double' })];
    for (const body of [text, Type.Array(text), Type.Union([text, number]), Type.Unknown(), closedObject({})]) {
      const document = documentOf(taking(body));
      expect(documentFaults(document)).toEqual([]);
      expect(document).toHaveProperty(['components', 'schemas', 'PutThingRequest']);
    }
  });
});

describe('openApi', () => {
  it('refuses to make a document that breaks a rule', () => {
    const nested = Type.Object({ either: Type.Union([Type.String(), Type.Object({ a: Type.String() })]) });
    expect(() => documentOf(taking(nested))).toThrow('components/schemas/PutThingRequest/properties/either: a union');
    expect(() => documentOf(taking(Type.Array(Type.Number())))).toThrow('a number must say format: double');
    expect(() => documentOf(taking(Type.Object({})))).toThrow('an open object must say additionalProperties: true');
    const either = named('Either', Type.Union([Type.String(), Type.Object({ a: Type.String() })]));
    expect(() => documentOf(taking(Type.Object({ either })))).not.toThrow();
  });

  it('describes the default of an optional member, which openapi-typescript would make required', () => {
    const size = Type.Optional(Type.Integer({ default: 7, description: 'How many.' }));
    const kind = Type.Optional(Type.String({ default: 'a' }));
    expect(documentOf(taking(closedObject({ size, kind })))).toMatchObject({
      components: {
        schemas: {
          PutThingRequest: {
            properties: {
              size: { type: 'integer', description: 'How many. Default: 7.' },
              kind: { type: 'string', description: 'Default: "a".' },
            },
          },
        },
      },
    });
    expect(JSON.stringify(documentOf(taking(closedObject({ size, kind }))))).not.toContain('"default"');
  });

  it('writes a map as additionalProperties, which generators read', () => {
    const document = documentOf(taking(Type.Record(Type.String(), Type.Integer())));
    expect(document).toMatchObject({
      components: { schemas: { PutThingRequest: { type: 'object', additionalProperties: { type: 'integer' } } } },
    });
    expect(JSON.stringify(document)).not.toContain('patternProperties');
  });
});

describe('schemaFaults', () => {
  it.each([
    ['^[^\\u0000-\\u001f]*$', 'contains \\u'],
    ['^(?!\\.$).*$', 'contains a lookaround'],
    ['^a(?=b)', 'contains a lookaround'],
    ['(?<=a)b', 'contains a lookaround'],
    ['(?<name>a)', 'contains a lookaround or a named group'],
    ['(a)\\1', 'contains a backreference'],
    ['^[^\\s]+$', 'contains \\s'],
    ['^[a-z]{1,4096}$', 'repeats more than 1000 times'],
    ['^[a-z]{1001}$', 'repeats more than 1000 times'],
  ])('refuses the pattern %s, which RE2 does not read', (pattern, fault) => {
    const schema = { type: 'object', properties: { deep: { type: 'array', items: { type: 'string', pattern } } } };
    expect(schemaFaults(schema, { at: 'tool' })).toEqual([
      expect.stringContaining(`tool/properties/deep/items: the pattern ${pattern} ${fault}`),
    ]);
  });

  it.each(['^[^\\x00-\\x1f\\x7f]*$', '^(?:\\*|[A-Za-z0-9_-]{1,64})$', '^[a-z]{0,1000}$', '^\\d+\\.\\d+$'])(
    'takes the pattern %s',
    (pattern) => {
      expect(schemaFaults({ type: 'string', pattern }, { at: 'tool' })).toEqual([]);
    },
  );

  it('asks for no names in the schema of a tool, which no generator reads', () => {
    const schema = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'number' }] } } };
    expect(schemaFaults(schema, { at: 'tool' })).toHaveLength(2);
    expect(schemaFaults(schema, { at: 'tool', isOfTool: true })).toEqual([]);
    // An object that one of several forms describes is not open.
    const either = { type: 'object', anyOf: [schema, { ...schema, required: ['a'] }] };
    expect(schemaFaults(either, { at: 'tool', isOfTool: true })).toEqual([]);
  });

  it('looks at schemas only: a member called pattern or type is a schema, and a default is a value', () => {
    const properties = { pattern: { type: 'string' }, type: { type: 'string' }, any: { default: { type: 'object' } } };
    expect(schemaFaults({ type: 'object', properties }, { at: 'tool' })).toEqual([]);
  });
});
