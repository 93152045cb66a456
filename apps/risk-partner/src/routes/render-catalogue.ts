import type { OpenApiDocument } from '@sealgate/http';

/** What the page takes from an operation; more is in the document itself. */
interface Operation {
  readonly summary: string;
  readonly security: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** A description as one HTML page without scripts: each path, what it takes, and what it answers. */
export function renderCatalogue(document: OpenApiDocument): string {
  // The document was made by `openApi`, which puts these members in it.
  const { title, description } = document['info'] as { title: string; description: string };
  const paths = document['paths'] as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(path, method, operation)),
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body>
<h1>${escaped(title)}</h1><p>${escaped(description)}</p>
<p>The same for programs: <a href="/api/v1/openapi.json">openapi.json</a>. Keys: <a href="/.well-known/jwks.json">jwks.json</a>.</p>
${sections.join('\n')}
</body></html>
`;
}

function section(path: string, method: string, { summary, security, parameters, responses }: Operation): string {
  const takes = parameters.map(
    ({ name, in: place, schema }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${place}</td><td><code>${escaped(JSON.stringify(schema))}</code></td></tr>`,
  );
  const answers = Object.entries(responses).map(
    ([status, { description }]) => `<tr><td>${status}</td><td>${escaped(description)}</td></tr>`,
  );
  return `<h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2>
<p>${escaped(summary)}.${security.length === 0 ? ' No key is needed.' : ''}</p>
${takes.length === 0 ? '' : `<table>${takes.join('')}</table>`}
<table>${answers.join('')}</table>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
