import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { plain, testRoute } from '../test/test-surface.ts';
import { checkOpenApiFile, closedObject, enumOf, listOf, listQuery, named, openApi, type Route } from './index.ts';

const Colour = enumOf('Colour', ['red', 'dark blue'], { description: 'As it was painted.' });
const Thing = named(
  'Thing',
  Type.Object({ id: Type.String(), colour: Colour, wasOnce: Type.Union([Colour, Type.Null()]) }),
);

const list = testRoute({
  ...plain,
  method: 'get',
  path: '/v1/things',
  query: listQuery({ default: 50, max: 200 }, { colour: Type.Optional({ ...Colour, description: 'Of that one.' }) }),
  responses: { 200: { description: 'A page.', schema: listOf(Thing) } },
  handler: () => ({ status: 200 }),
});

const get = testRoute({
  ...plain,
  method: 'get',
  path: '/v1/things/:id',
  params: Type.Object({ id: Type.String({ maxLength: 9 }) }),
  handler: () => ({ status: 200 }),
});

interface Described {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters: readonly object[] } }>>;
  readonly components: { readonly schemas: object };
}

const documentOf = (routes: readonly Route<never>[]) =>
  openApi({ title: 'Things', version: '1.2.3', description: 'About things.', routes, securityScheme: 'Bearer' });
const described = (...routes: readonly object[]) => documentOf(routes as Route<never>[]) as unknown as Described;
const answering = (schema: typeof Thing | ReturnType<typeof Type.Partial>) => ({
  ...get,
  responses: { 200: { description: 'Some.', schema } },
});

describe('the components of an OpenAPI document', () => {
  it('include named schemas, and enums for choices; local annotations stay inline', () => {
    const { components, paths } = described(list);
    const colour = { $ref: '#/components/schemas/Colour' };
    expect(components.schemas).toMatchObject({
      ThingList: { properties: { items: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } } },
      Thing: { properties: { colour, wasOnce: { anyOf: [colour, { type: 'null' }] } } },
      Colour: { type: 'string', enum: ['red', 'dark blue'], description: 'As it was painted.' },
    });
    expect(paths['/v1/things']?.get).toMatchObject({
      parameters: [{}, {}, { name: 'colour', description: 'Of that one.', schema: colour }],
      responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingList' } } } } },
    });
  });

  it('include unnamed bodies under the name of their operation', () => {
    const rename = testRoute({
      ...plain,
      method: 'put',
      path: '/v1/things',
      operationId: 'rename_thing',
      body: closedObject({ name: Type.String() }),
      bodyMaxBytes: 10,
      responses: { 200: { description: 'Renamed.', schema: Type.Object({ id: Type.String() }) } },
      handler: () => ({ status: 200 }),
    });
    expect(described(rename).components.schemas).toMatchObject({
      RenameThingRequest: { required: ['name'] },
      RenameThingResult: { required: ['id'] },
    });
  });

  it('include parameters shared by several operations, unless two differ under one name', () => {
    const params = Type.Object({ id: Type.String({ maxLength: 7 }) });
    const routes = [get, { ...get, path: '/v1/others/:id' }, { ...get, path: '/v1/more/:id', params }];
    const shared = [{ $ref: '#/components/parameters/IdInPath' }];
    const inPlace = [{ name: 'id', in: 'path', required: true, schema: { type: 'string', maxLength: 7 } }];
    const { paths } = described(...routes);
    expect(Object.values(paths).map((item) => item.get.parameters)).toEqual([shared, shared, inPlace]);
    const clashing = described(...routes, { ...get, path: '/v1/most/:id', params });
    expect(clashing.components).not.toHaveProperty('parameters.IdInPath');
    const [first, second, third, fourth] = Object.values(clashing.paths).map((item) => item.get.parameters);
    expect([third, fourth]).toEqual([inPlace, inPlace]);
    expect(first).toEqual(second);
    expect(first).toMatchObject([{ name: 'id', in: 'path' }]);
  });

  it('reject two schemas of one name, and a derived schema without a name', () => {
    const other = named('Thing', Type.Object({}));
    expect(() =>
      described(list, { ...answering(Thing), responses: { 200: { description: '', schema: other } } }),
    ).toThrow('There are two different components/schemas/Thing.');
    expect(() => described(answering(Type.Partial(Thing)))).toThrow('A schema made from Thing has a different');
    expect(() => described(answering(named('ThingChange', Type.Partial(Thing))))).not.toThrow();
  });
});

describe('checkOpenApiFile', () => {
  it('passes if the file matches the routes, else names the first line that differs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
    const path = join(folder, 'openapi.json');
    const document = documentOf([]);
    checkOpenApiFile(path, document, { write: true });
    expect(() => checkOpenApiFile(path, document, { write: false })).not.toThrow();
    writeFileSync(path, `${JSON.stringify(document, null, 2).replace('1.2.3', '1.2.2')}\n`);
    expect(() => checkOpenApiFile(path, document, { write: false })).toThrow(/stale at line 5.*1\.2\.2.*1\.2\.3/);
    rmSync(folder, { recursive: true });
  });
});
