import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Call } from './admin-api.ts';
import { GROUPS, TABLE } from './groups.ts';
import { memberOptions } from './member-options.ts';
import { type Operation, operations } from './operations.ts';
import { memberNamed, rowOf, targetOf } from './option-rows.ts';
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

const because = (reason: string, ...names: string[]) => names.map((name) => [name, reason] as const);

/** Why an operation has no row. Another one needs it. */
const WITHOUT_ROW = Object.fromEntries([
  ...because('cases are worked on in the console', 'listCases', 'createAdminCase', 'countCases', 'getCase'),
  ...because('the same', 'listCaseTimeline', 'changeCaseVenues', 'withdrawCaseByOperator', 'attachToCase'),
  ...because('the same', 'decideCaseByOperator', 'sealCaseByOperator', 'getCasePack', 'explainCase'),
  ...because('sent by --csv of the list', 'exportDecisions', 'exportEvents', 'exportKeys', 'exportNetworks'),
  ...because('the same', 'exportPolicies', 'exportRefusedDeliveries', 'exportSourceDeliveries', 'exportSources'),
  ...because('the same', 'exportAllRefusedDeliveries', 'exportSubjects', 'exportVenues'),
  ...because('the same', 'exportOrgs', 'exportPeople', 'exportPersonKeys', 'exportIdentities', 'exportFrameworks'),
  ...because('the same', 'exportUnlinkedIdentities'),
  ...because('proved in the console', 'getDecisionProof'),
  ...because('drawn on start pages of the console', 'getGateActivity', 'getIngestActivity'),
  ...because('cases are exported in the console', 'exportCases'),
  ...because('drafts are tried in the console', 'tryPolicy'),
  ...because(
    'pages of the console',
    'getWhoami',
    'getWaiting',
    'getChannel',
    'listRecords',
    'listLogs',
    'getLedgerKeys',
  ),
  ...because('a stream, for the console', 'tailEvents'),
  ...because('a whole audit in one request; ledger audit follows one in the background', 'auditChannel'),
  ...because('sent by the code of ledger proof, ledger audit, ledger recover, secrets', 'getProof', 'getAudit'),
  ...because('the same', 'declareLoss', 'getSecretStatus'),
  ...because('sent by the code of fabric check', 'checkMapping'),
  ...because('sent by the code of fabric trust', 'readChannelTrust'),
]);

/** Why a member of an operation with a row has no option. */
const WITHOUT_OPTION: Readonly<Record<string, string>> = {
  'changePolicy rules': 'a draft is edited in the console',
};

const rows = TABLE.flatMap(({ name, surfaces, commands }) =>
  Object.entries(commands).flatMap(([usage, command]) =>
    'operation' in command
      ? [{ line: `${name} ${usage}`, row: command, surface: surfaces[0] ?? '', usage, surfaces }]
      : [],
  ),
);

/** The parameters and members that a row sets: by options, arguments, or always. */
function setBy({ row, usage }: (typeof rows)[number], operation: Operation): string[] {
  const { options = {}, only, body = {} } = row;
  const flags = Object.entries(only === true ? options : memberOptions(operation, options, []));
  const args = [...usage.matchAll(/<(\w+)>/g)].flatMap(
    ([, name = '']) => memberNamed(operation.body ?? {}, name) ?? [],
  );
  return [
    ...flags.flatMap(([flag, option]) => targetOf(operation, flag, rowOf(option))?.path[0] ?? []),
    ...args,
    ...Object.keys(body),
  ];
}

describe('the table', () => {
  it('has a command for every operation of the admin APIs, or a reason', () => {
    const known = new Set(rows.map(({ row }) => row.operation));
    const missing = new Set(Object.values(operations).flatMap((ofSurface) => Object.keys(ofSurface)));
    for (const name of known) missing.delete(name);
    expect([...missing].toSorted()).toEqual(Object.keys(WITHOUT_ROW).toSorted());
  });

  it('sets every parameter and member by an option or argument, or has a reason', () => {
    const missing = Object.entries(operations).flatMap(([surface, ofSurface]) =>
      Object.entries(ofSurface).flatMap(([name, operation]) => {
        const ofOperation = rows.filter((one) => one.row.operation === name && one.surfaces.includes(surface));
        if (ofOperation.length === 0) return [];
        const set = new Set(ofOperation.flatMap((one) => [...setBy(one, operation), 'limit', 'cursor']));
        const fields = Object.keys({ ...operation.query, ...operation.body });
        return fields.filter((field) => !set.has(field)).map((field) => `${name} ${field}`);
      }),
    );
    expect(missing).toEqual(Object.keys(WITHOUT_OPTION));
  });

  it('has words for every option', () => {
    const options = GROUPS.flatMap(({ name, commands }) =>
      commands.flatMap((command) => (command.options ?? []).map((option) => ({ name, usage: command.usage, option }))),
    );
    expect(options.filter(({ option }) => option.description === '')).toEqual([]);
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
    text: async (call: Call) => (sent.push(call), ''),
    async *parts() {},
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

const PLACE = { name: 'group', surfaces: ['ingest-gateway'] };

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
    expect(helpOf('confirmSubject', 'confirm <subjectRef>')).toEqual([
      '--record-version <n> | the version of the record that the operator reviewed | mandatory',
      '--reason <text> | the reason, stored in the record and the audit log | mandatory',
      '--environment <name> | the environment; default live',
    ]);
    expect(helpOf('mintKey', 'mint')).toEqual([
      '--label <text> | its purpose | mandatory',
      '--environment <name> | its environment | mandatory',
      '--scope <name> | case:write, case:decide, case:override, case:seal, case:read, case:export, eligibility:read or gate:check; what it may do (repeatable)',
      '--expires-at <time> | when it ends; default: never; RFC 3339',
      '--replaces <keyId> | the live key of the same owner that it replaces, to rotate it',
      '--overlap-seconds <n> | how long the replaced key stays valid, so that its callers can switch; default 0',
    ]);
  });

  it('sets null by an option of its own, in a change', () => {
    const { options = [] } = rowCommand({ operation: 'changeNetwork' }, { ...PLACE, usage: 'change <networkId>' });
    expect(options.map(({ flags }) => flags)).toEqual([
      ...['--name <text>', '--no-name', '--channel <name>', '--rate <n>', '--burst <n>', '--default-limits'],
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
