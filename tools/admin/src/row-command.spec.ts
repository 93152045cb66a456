import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Call } from './admin-api.ts';
import { TABLE } from './groups.ts';
import { operations } from './operations.ts';
import { type Row, rowCommand } from './row-command.ts';
import { openSession } from './session.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Document {
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, Response> }>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

interface Response {
  readonly content?: Record<string, { readonly schema: Schema }>;
}

const documentOf = (surface: string): Document =>
  JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../apps', surface, 'admin-openapi.json'), 'utf8'),
  ) as Document;

/** Operations of the console, and for programs. Another one needs a row. */
const WITHOUT_COMMAND = [
  ...['listCases', 'createAdminCase', 'countCases', 'getCase', 'listCaseTimeline', 'changeCaseVenues'],
  ...['withdrawCaseByOperator', 'attachToCase', 'decideCaseByOperator', 'sealCaseByOperator', 'getCasePack'],
  ...['explainCase', 'tryPolicy', 'tailEvents', 'getWhoami', 'getWaiting'],
  ...['getChannel', 'listRecords', 'listLogs', 'getLedgerKeys', 'auditChannel'],
];
/** Sent by code: the audit's progress, a loss, and the secrets. */
const SENT_BY_CODE = ['getProof', 'getAudit', 'declareLoss', 'getSecretStatus'];

const rows = TABLE.flatMap(({ name, surfaces, commands }) =>
  Object.entries(commands).flatMap(([usage, command]) =>
    'operation' in command ? [{ line: `${name} ${usage}`, row: command, surface: surfaces[0] ?? '' }] : [],
  ),
);

describe('the table', () => {
  it('has a command for every operation of the admin APIs', () => {
    const known = new Set([...rows.map(({ row }) => row.operation), ...SENT_BY_CODE]);
    const missing = new Set(Object.values(operations).flatMap((ofSurface) => Object.keys(ofSurface)));
    for (const name of known) missing.delete(name);
    expect([...missing].toSorted()).toEqual(WITHOUT_COMMAND.toSorted());
  });

  it.each(rows.filter(({ row }) => row.columns !== undefined))(
    'prints members that an item has: $line',
    ({ row, surface }) => {
      const { paths, components } = documentOf(surface);
      const found = Object.values(paths)
        .flatMap((methods) => Object.values(methods))
        .find(({ operationId }) => operationId === row.operation);
      const resolved = (schema: Schema | undefined): Schema =>
        components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? schema ?? {};
      const page = resolved(found?.responses['200']?.content?.['application/json']?.schema);
      const item = resolved(resolved(page.properties?.['items']).items);
      for (const column of row.columns?.split(', ') ?? []) {
        const path = column.split(' ').at(-1)?.split('.') ?? [];
        const member = path.reduce<Schema>((schema, name) => resolved(schema.properties?.[name]), item);
        expect({ column, isThere: Object.keys(member).length > 0 }).toEqual({ column, isThere: true });
      }
    },
  );
});

/** Runs a row with these options, as parsed. */
async function sentBy(row: Row, usage: string, args: string[], given: object): Promise<Call[]> {
  const sent: Call[] = [];
  const answer = { text: '{"a":1}', value: { a: 1 } };
  const api = {
    json: async (call: Call) => (sent.push(call), answer),
    text: async () => '',
    nothing: async (call: Call) => void sent.push(call),
  };
  const quiet = {
    out: () => {},
    err: () => {},
    env: {},
    directory: '/',
    uid: 0,
    ask: undefined,
    pause: async () => {},
  };
  const command = rowCommand(row, { name: 'group', usage, surfaces: ['case-gate'] });
  await command.run(openSession(quiet, { api, json: true, yes: false }), args, { ...given });
  return sent;
}

describe('a row with nothing but its operation', () => {
  const commandOf = (operation: string, usage: string) =>
    rowCommand({ operation }, { name: 'group', usage, surfaces: ['case-gate'] });
  const helpOf = (operation: string, usage: string) =>
    (commandOf(operation, usage).options ?? []).map(({ flags, description, mandatory, argChoices }) =>
      [flags, description, ...(mandatory ? ['mandatory'] : []), ...(argChoices ?? [])].join(' | '),
    );

  it('has the words of the document, an example, and an option for each parameter and member', () => {
    const { summary, examples } = commandOf('tryPolicy', 'try <policyVersion>');
    expect({ summary, examples }).toEqual({
      summary: 'Try a policy version on the most recently decided cases; writes nothing',
      examples: ['sealgate group try 2030-01'],
    });
    expect(helpOf('tryPolicy', 'try <policyVersion>')).toEqual([
      '--last-decided <n> | sets last_decided | mandatory',
      '--environment <name> | the environment (default: live)',
    ]);
    expect(helpOf('decideCaseByOperator', 'decide <caseId>')).toEqual([
      '--policy-version <text> | sets policy_version | mandatory',
      '--decision <text> | sets decision: approve, decline or refer',
      '--reason-codes <text> | sets reason_codes (repeatable)',
      '--valid-until <time> | sets valid_until',
      '--decided-by <text> | sets decided_by',
      '--environment <name> | the environment (default: live)',
    ]);
  });

  it('sends each value in the type of the document', async () => {
    const rules = join(folder, 'rules.json');
    writeFileSync(rules, '{"rules":[]}');
    const venue = { name: 'Hall', active: 'false', environment: 'test' };
    expect(await sentBy({ operation: 'createVenue' }, 'create <venueId>', ['hall'], venue)).toEqual([
      {
        method: 'POST',
        path: '/venues',
        query: {},
        body: { venue_id: 'hall', name: 'Hall', active: false, environment: 'test' },
      },
    ]);
    const policy = { status: 'draft', rules, environment: 'test' };
    expect(await sentBy({ operation: 'changePolicy' }, 'change <policyVersion>', ['a/b'], policy)).toEqual([
      {
        method: 'PATCH',
        path: '/policies/a%2Fb',
        query: { environment: 'test' },
        body: { status: 'draft', rules: { rules: [] } },
      },
    ]);
    const explained = await sentBy({ operation: 'explainCase' }, 'explain <caseId>', ['c'], { policyVersion: 'p' });
    expect(explained).toEqual([{ method: 'GET', path: '/cases/c/explanation', query: { policy_version: 'p' } }]);
  });
});

describe('a row that contradicts the document', () => {
  it.each<[string, Row]>([
    ['has no noSuch', { operation: 'noSuch' }],
    ['sets such, which', { operation: 'createVenue', options: { '--such <text>': 'x' } }],
    ['sets name.such, which', { operation: 'createVenue', options: { '--a <b>': { words: 'x', sets: 'name.such' } } }],
  ])('stops the program: %s', (words, row) => {
    expect(() => rowCommand(row, { name: 'group', usage: 'create <venueId>', surfaces: ['case-gate'] })).toThrow(words);
  });
});
