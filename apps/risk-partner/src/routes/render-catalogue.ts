import type { OpenApiDocument } from '@sealgate/http';

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

/** What the page takes from an operation; more is in the document itself. */
interface Operation {
  readonly summary: string;
  readonly security: readonly unknown[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

type Components = Readonly<Record<string, Readonly<Record<string, object>>>>;

/** A description as one HTML page without scripts: each path, what it takes, and what it answers. */
export function renderCatalogue(document: OpenApiDocument): string {
  // The document was made by `openApi`, which puts these members in it.
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

/** The component that a reference of the document names; anything else is itself. */
function resolved<Value extends object>(value: Value | Reference, components: Components): Value {
  if (!('$ref' in value)) return value;
  const [kind = '', name = ''] = value.$ref.replace('#/components/', '').split('/');
  // The document was made by `openApi`: what it refers to is in it, and of the kind that belongs there.
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
