import type { Jwks } from '@sealgate/envelope';
import { JwkSet, openObject, publicDocument, routeFor, type OpenApiDocument, type Route } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';

const route = routeFor<RiskCaller>();

export interface PublishedPorts {
  /** The keys of every envelope ever signed here. */
  readonly readKeys: () => Promise<Jwks>;
  /** The description of `/api/v1`; called once. */
  readonly describe: () => OpenApiDocument;
}

const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', tags: ['open'] } as const;
const maxAgeSeconds = 60;
const notModified = { 304: { description: 'Unchanged since the ETag that was sent.' } };

/** Public documents. */
export function publishedRoutes({ readKeys, describe }: PublishedPorts): Route<RiskCaller>[] {
  let described: { json: Buffer; page: Buffer } | undefined;
  const documents = () => {
    described ??= { json: Buffer.from(JSON.stringify(describe())), page: Buffer.from(renderCatalogue(describe())) };
    return described;
  };
  return [
    route({
      ...open,
      path: '/.well-known/jwks.json',
      operationId: 'jwks',
      summary: 'The public keys of Evidence-Signature (RFC 7517); retired keys stay listed',
      responses: { 200: { description: 'The key set.', schema: JwkSet }, ...notModified },
      errors: ['UNAVAILABLE'],
      handler: async (context) =>
        publicDocument(JSON.stringify(await readKeys()), {
          ifNoneMatch: context.header('if-none-match'),
          maxAgeSeconds,
        }),
    }),
    route({
      ...open,
      path: '/api/v1/openapi.json',
      operationId: 'openapi',
      summary: 'The OpenAPI 3.1 description of /api/v1',
      responses: { 200: { description: 'The description.', schema: openObject() }, ...notModified },
      errors: [],
      handler: (context) =>
        publicDocument(documents().json, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds }),
    }),
    route({
      ...open,
      path: '/api/v1/docs',
      operationId: 'docs',
      summary: 'The same as an HTML page',
      responses: { 200: { description: 'The page.', contentType: 'text/html' }, ...notModified },
      errors: [],
      handler: (context) =>
        publicDocument(documents().page, {
          ifNoneMatch: context.header('if-none-match'),
          maxAgeSeconds,
          contentType: 'text/html; charset=utf-8',
        }),
    }),
  ];
}

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: object;
}

interface Answer {
  readonly description: string;
}

/** What the page shows of an operation; the document has more. */
interface Operation {
  readonly summary: string;
  readonly security: readonly unknown[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

type Components = Readonly<Record<string, Readonly<Record<string, object>>>>;

/** Renders a description as one HTML page without scripts: each path, its parameters and its responses. */
function renderCatalogue(document: OpenApiDocument): string {
  // `openApi` makes these members.
  const { title, description } = document['info'] as { title: string; description: string };
  const paths = document['paths'] as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const components = document['components'] as unknown as Components;
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      section(`${method.toUpperCase()} ${path}`, operation, components),
    ),
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body>
<h1>${escaped(title)}</h1><p>${escaped(description)}</p>
<p>The same for programs: <a href="/api/v1/openapi.json">openapi.json</a>. Keys: <a href="/.well-known/jwks.json">jwks.json</a>.</p>
${sections.join('\n')}
</body></html>
`;
}

/** Resolves a `$ref`; other values are returned unchanged. */
function resolved<Value extends object>(value: Value | Reference, components: Components): Value {
  if (!('$ref' in value)) return value;
  const [kind = '', name = ''] = value.$ref.replace('#/components/', '').split('/');
  // References of a document made by `openApi` resolve to the expected kind.
  return components[kind]?.[name] as Value;
}

function section(
  title: string,
  { summary, security, parameters, responses }: Operation,
  components: Components,
): string {
  const takes = parameters.map((one) => {
    const { name, in: place, schema } = resolved(one, components);
    const shape = escaped(JSON.stringify(resolved(schema, components)));
    return `<tr><td><code>${escaped(name)}</code></td><td>${place}</td><td><code>${shape}</code></td></tr>`;
  });
  const answers = Object.entries(responses).map(
    ([status, one]) => `<tr><td>${status}</td><td>${escaped(resolved(one, components).description)}</td></tr>`,
  );
  return `<h2><code>${escaped(title)}</code></h2>
<p>${escaped(summary)}.${security.length === 0 ? ' No key is needed.' : ''}</p>
${takes.length === 0 ? '' : `<table>${takes.join('')}</table>`}
<table>${answers.join('')}</table>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
