import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { catalogueTable } from '@sealgate/errors';
import { checkOpenApiFile, type OpenApiDocument } from '@sealgate/http';
import { checkConfigTable, migrationFields, type ConfigFields } from '@sealgate/service-host';
import { openApiFaults, unreadablePatterns } from '@sealgate/testing';
import { appsWith, workspaceRoot } from '../workspace.ts';

// With UPDATE_DOCUMENTS=1 it writes what has changed; see infra/guides/change-sealgate.md for the command.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

/** Compares the part of a page between two comments with what is generated, or writes it. */
function checkPart(page: string, name: string, generated: string): void {
  const file = join(workspaceRoot, page);
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before = '', rest = ''] = text.split(begin);
  const [, after = ''] = rest.split(end);
  const current = `${before}${begin}\n\n${generated}\n\n${end}${after}`;
  if (write) writeFileSync(file, current);
  else expect(text).toBe(current);
}

/** The error codes that an OpenAPI document names, wherever a schema has a member `code`. */
function codesIn(part: unknown): unknown[] {
  if (typeof part !== 'object' || part === null) return [];
  const { code } = ((part as { properties?: object }).properties ?? {}) as { code?: { enum?: unknown[] } };
  return [...(code?.enum ?? []), ...Object.values(part).flatMap(codesIn)];
}

/** By path: apps are not libraries, so lint forbids importing them by name. */
async function moduleOf<Module>(app: string, file: string): Promise<Module> {
  return (await import(join(workspaceRoot, 'apps', app, 'src', file))) as Module;
}

const apps = await Promise.all(
  appsWith('src/openapi.ts').map(async (app) => ({
    app,
    folder: join(workspaceRoot, 'apps', app),
    descriptions: await moduleOf<{
      readonly publicDescription: (options?: unknown) => OpenApiDocument;
      readonly adminDescription?: () => OpenApiDocument;
    }>(app, 'openapi.ts'),
    fields: (await moduleOf<{ fields: ConfigFields }>(app, 'config.ts')).fields,
  })),
);

it('covers every app with a public listener', () => {
  expect(apps.map(({ app }) => app)).toEqual(['case-gate', 'console', 'ingest-gateway', 'ledger-peer', 'risk-partner']);
});

describe.each(apps)('the documents of $app match the code', ({ folder, descriptions, fields }) => {
  const { publicDescription, adminDescription } = descriptions;

  it('openapi.json', () => checkOpenApiFile(join(folder, 'openapi.json'), publicDescription(), { write }));

  it('admin-openapi.json, where there is an admin listener', () => {
    const file = join(folder, 'admin-openapi.json');
    if (adminDescription === undefined) expect(existsSync(file)).toBe(false);
    else checkOpenApiFile(file, adminDescription(), { write });
  });

  it('in a form that code generators and linters accept', () => {
    const documents = [publicDescription(), ...(adminDescription === undefined ? [] : [adminDescription()])];
    expect(documents.flatMap(openApiFaults)).toEqual([]);
  });

  it('with patterns that RE2 compiles, for validators in Go and Rust', () => {
    const documents = [publicDescription(), ...(adminDescription === undefined ? [] : [adminDescription()])];
    expect(unreadablePatterns(documents)).toEqual([]);
  });

  it('the configuration table in the README', () => {
    const { migrationDatabaseUrl } = migrationFields;
    const all = 'databaseUrl' in fields ? { ...fields, migrationDatabaseUrl } : fields;
    checkConfigTable(join(folder, 'README.md'), all, { write });
  });
});

it('the table of error codes names the apps that document each', () => {
  const documented = apps.map(({ app, descriptions: { publicDescription, adminDescription } }) => ({
    app,
    codes: new Set([publicDescription(), adminDescription?.()].flatMap(codesIn)),
  }));
  const answeredBy = (code: string) => documented.filter(({ codes }) => codes.has(code)).map(({ app }) => app);
  checkPart('infra/guides/error-codes.md', 'codes', catalogueTable(answeredBy));
});

describe('a description with a configured public URL', () => {
  it.each([
    ['case-gate', { publicUrl: 'https://gate.example.com' }, 'https://gate.example.com'],
    ['ledger-peer', 'https://ledger.example.com/peer', 'https://ledger.example.com/peer'],
  ])('of %s has it as its server, and the same paths', (name, options, url) => {
    const { publicDescription } = apps.find(({ app }) => app === name)!.descriptions;
    expect(publicDescription(options)).toMatchObject({ servers: [{ url }], paths: publicDescription()['paths'] });
  });
});

describe('the documents of risk-partner', () => {
  it('the description of /api/v1, with a configured public URL as its server', async () => {
    const { partnerDescription } = await moduleOf<{ partnerDescription: (publicUrl?: string) => OpenApiDocument }>(
      'risk-partner',
      'public-routes.ts',
    );
    expect(openApiFaults(partnerDescription())).toEqual([]);
    const url = 'https://risk.example.com';
    expect(partnerDescription(url)).toMatchObject({ servers: [{ url }] });
  });

  it('the permission table in the README', async () => {
    const { permissionTable } = await moduleOf<{ permissionTable: () => string }>(
      'risk-partner',
      'domain/permissions.ts',
    );
    checkPart('apps/risk-partner/README.md', 'permissions', permissionTable());
  });
});
