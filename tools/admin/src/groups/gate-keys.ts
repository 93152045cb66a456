import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import {
  type CommandSpec,
  environmentOption,
  type EnvironmentOptions,
  integerOption,
  listOption,
} from '../command-spec.ts';
import { given, type JsonObject, textOf } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { cellText, type Column, type Format, printable, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'KEY', member: 'id' },
  { title: 'ENVIRONMENT', member: 'environment' },
  { title: 'LABEL', member: 'label' },
  { title: 'BEGINS WITH', member: 'keyPrefix' },
  { title: 'SCOPES', member: 'scopes' },
  { title: 'LAST USED', member: 'lastUsedAt' },
  { title: 'EXPIRES', member: 'expiresAt' },
  { title: 'REVOKED', member: 'revokedAt' },
  { title: 'ENDS', member: 'endsAt' },
];

const FORMATS: Readonly<Record<string, Format>> = {
  expiresAt: (value) => (value === null ? 'never' : cellText(value)),
  lastUsedAt: (value) => (value === null ? 'never' : cellText(value)),
};

interface MintOptions {
  readonly label: string;
  readonly environment: string;
  readonly scope?: string[];
  readonly expiresAt?: string;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

const mint: CommandSpec<MintOptions> = {
  usage: 'mint',
  summary: 'Create a gk_ key of an environment; the raw key is shown only once',
  details:
    'Scopes: case:write, case:decide, case:override, case:seal, case:read, case:export, eligibility:read, gate:check.\n' +
    'To rotate a key, create its successor with --replaces, and set --overlap-seconds to the time callers need to switch.',
  examples: [
    "sealgate gate-keys mint --environment live --label 'north door' --scope gate:check",
    'sealgate gate-keys mint --environment test --label desk --scope case:write --scope case:read --replaces key_01',
  ],
  options: [
    new Option('--label <text>', 'its purpose').makeOptionMandatory(),
    new Option('--environment <name>', 'its environment').makeOptionMandatory(),
    listOption('--scope <name>', 'a scope; repeatable'),
    new Option('--expires-at <time>', 'RFC 3339, as in 2030-01-01T00:00:00Z'),
    new Option('--replaces <keyId>', 'the live key of this environment that it replaces'),
    integerOption('--overlap-seconds <n>', 'how long the replaced key stays valid (default: 0)'),
  ],
  run: async (session, _args, { label, environment, scope = [], expiresAt, replaces, overlapSeconds }) => {
    const body = { label, environment, scopes: scope, ...given({ expiresAt, replaces, overlapSeconds }) };
    session.show(await session.api.json({ method: 'POST', path: apiPath`/keys`, body }), mintedText);
  },
};

const list: CommandSpec<PageOptions & EnvironmentOptions> = {
  usage: 'list',
  summary: 'List live keys of an environment and those that expired in the last 30 days, newest first',
  examples: ['sealgate gate-keys list', 'sealgate gate-keys list --environment test --all'],
  options: [environmentOption(), ...pageOptions()],
  run: (session, _args, options) => {
    const { environment } = options;
    const none = 'The environment has no keys.';
    return printList(session, { path: apiPath`/keys`, query: { environment }, columns: COLUMNS, none }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <keyId>',
  summary: 'Read a key, without the raw key',
  examples: ['sealgate gate-keys get key_01'],
  run: async (session, [keyId = '']) => {
    const answer = await session.api.json({ method: 'GET', path: apiPath`/keys/${keyId}` });
    session.show(answer, (row) => rowFields(row, FORMATS));
  },
};

const revoke: CommandSpec = {
  usage: 'revoke <keyId>',
  summary: 'Revoke a key immediately and permanently; its predecessor and successor stay valid',
  examples: ['sealgate gate-keys revoke key_01'],
  run: async (session, [keyId = '']) => {
    await session.api.nothing({ method: 'DELETE', path: apiPath`/keys/${keyId}` });
    session.say(`The key ${keyId} is revoked: it is rejected from the next request on.`);
  },
};

function mintedText({ rawKey, ...row }: JsonObject): string {
  return `The key was created:

  ${printable(textOf(rawKey))}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

${rowFields(row, FORMATS)}`;
}

export const gateKeyCommands: readonly CommandSpec[] = [mint, list, get, revoke];
