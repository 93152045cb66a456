import { networkLimitsText } from '../row-texts.ts';
import { UsageError } from '../errors.ts';
import { isObject, type JsonObject, readJsonFile, textOf } from '../json-object.ts';
import type { JsonMembers, OptionRows } from '../option-rows.ts';
import type { GroupRows, Row } from '../row-command.ts';
import { cellText, type Format, grantText, printable, printableLines, rowFields } from '../row-table.ts';
import type { Session } from '../session.ts';
import { secretFrom, withOthers } from './source-signature.ts';

const secretIds: Format = (value) =>
  Array.isArray(value) ? value.map((one) => (isObject(one) ? textOf(one['id']) : '')).join(', ') : cellText(value);

const sourceText = (row: JsonObject): string =>
  rowFields(row, { secrets: secretIds, allowedTypes: grantText, limits: networkLimitsText });

const SECRET_FILE: OptionRows = {
  '--secret-file <file>': {
    words: 'the secret from the sender, or its public key; by default one is generated',
    sets: 'secrets',
    byCode: true,
  },
};

const SETTINGS: OptionRows = { '--settings <file>': { words: 'members as JSON, in place of options', sets: null } };

interface FileOptions {
  readonly settings?: string;
  readonly secretId?: string;
  readonly secretFile?: string;
}

/** Options count more than the file, but for these members. */
function addSettings(body: JsonMembers, { settings }: FileOptions, replaced: readonly string[] = []): void {
  if (settings === undefined) return;
  const further = readJsonFile(settings);
  if (!isObject(further)) throw new UsageError(`${settings} is not a JSON object.`);
  for (const [name, value] of Object.entries(further))
    if (replaced.includes(name) || body[name] === undefined) body[name] = value;
}

const create: Row = {
  operation: 'createSource',
  summary: 'Create a source; a generated secret is shown only once',
  details:
    'Give the sender url, and the secret; without url the gateway has no PUBLIC_URL: put its public address before path. With --secret-file no secret is\n' +
    'generated: the file has the secret from the sender, such as the signing secret of Stripe or Slack. --json shows no secret, so it needs --secret-file.',
  examples: [
    "sealgate sources create acme --name 'GitHub of acme' --preset github",
    'sealgate sources create acme --name GitLab --preset gitlab',
    "sealgate sources create acme --name Own --scheme hmac --signature-header X-Sig --signed '{timestamp}.{body}' --timestamp-header X-Time",
    'sealgate sources create acme --name Orders --scheme standard-webhooks --allowed-type order.paid --id-from /data/id',
  ],
  options: {
    '--secret-id <id>': { words: 'the name of the secret', sets: 'secrets', byCode: true, default: 'k1' },
    ...SECRET_FILE,
    ...SETTINGS,
  },
  complete: async (body, { session, given }) => {
    const sender = body['preset'] ?? body['scheme'];
    if (sender === undefined || (body['preset'] !== undefined && body['scheme'] !== undefined))
      throw new UsageError('Either --preset or --scheme is needed.');
    rejectHidden(session, given);
    const { value, shown } = secretOf(given, textOf(sender));
    body['secrets'] = [{ id: textOf((given as FileOptions).secretId), value }];
    addSettings(body, given, ['name', 'preset', 'scheme', 'secrets']);
    return shown;
  },
  done: 'The source was created.',
};

/** JSON is the answer of the API, which has no secret: a generated one would be lost. */
function rejectHidden({ json }: Session, { secretFile }: FileOptions): void {
  if (json && secretFile === undefined) throw new UsageError('--json needs --secret-file.');
}

/** The secret, and what to print of it if it is new. */
function secretOf(options: FileOptions, sender: string): { value: string; shown: string } {
  const { value, isNew } = secretFrom(options, sender);
  if (!isNew) return { value, shown: '' };
  const shown = `
  ${printable(value)}

This is the only time that the secret is shown: give it to the sender now. Nobody can show it again.
`;
  return { value, shown };
}

const change: Row = {
  operation: 'changeSource',
  details:
    'With an option of the signature or token the source is read first, because a change lists all of their members.',
  examples: [
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --disable',
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --allowed-type push --allowed-type release',
  ],
  options: {
    '--enable': { words: 'accept its deliveries', sets: 'enabled', to: true },
    '--disable': { words: 'reject its deliveries with 404', sets: 'enabled', to: false },
    ...SETTINGS,
  },
  complete: async (body, { session, given, path }) => {
    if ('signature' in body || 'token' in body)
      withOthers(body, (await session.api.json({ method: 'GET', path })).value);
    addSettings(body, given);
  },
  unchanged: 'Nothing to change.',
  done: 'The source was changed.',
};

const CHANGE_OF_SECRETS = 'Reads the source first, because a change lists all of its secrets.';

const addSecret: Row = {
  operation: 'changeSource',
  summary: 'Add a secret to a source; a generated one is shown only once',
  details: `To rotate a secret: add the new one, give it to the sender, wait until deliveries use it, then remove the old one.\n${CHANGE_OF_SECRETS}`,
  readsFirst: true,
  examples: ['sealgate sources add-secret acme src_AAAAAAAAAAAAAAAAAAAAAA --secret-id k2'],
  options: {
    '--secret-id <id>': { words: 'the name of the secret', sets: 'secrets', byCode: true, required: true },
    ...SECRET_FILE,
  },
  only: true,
  complete: async (body, { session, given, path }) => {
    const options: FileOptions = given;
    rejectHidden(session, options);
    const { value: source } = await session.api.json({ method: 'GET', path });
    const { value, shown } = secretOf(options, textOf(source['scheme']));
    body['secrets'] = [...idsOf(source), { id: textOf(options.secretId), value }];
    return shown;
  },
  done: 'The secret was added.',
};

const removeSecret: Row = {
  operation: 'changeSource',
  summary: 'Remove a secret from a source: deliveries signed with it are rejected from now on',
  details: CHANGE_OF_SECRETS,
  readsFirst: true,
  examples: ['sealgate sources remove-secret acme src_AAAAAAAAAAAAAAAAAAAAAA k1 --yes'],
  only: true,
  complete: async (body, { session, args: [, , secretId = ''], path }) => {
    const secrets = idsOf((await session.api.json({ method: 'GET', path })).value);
    if (!secrets.some(({ id }) => id === secretId)) throw new UsageError(`The source has no secret ${secretId}.`);
    body['secrets'] = secrets.filter(({ id }) => id !== secretId);
  },
  confirm: 'Remove the secret <secretId>? Deliveries signed with it are rejected.',
  done: 'The secret <secretId> is gone.',
};

/** Secrets of a change: existing ones need no value. */
function idsOf(source: JsonObject): { id: string }[] {
  const secrets = source['secrets'];
  return Array.isArray(secrets) ? secrets.filter(isObject).map((one) => ({ id: textOf(one['id']) })) : [];
}

/** Headers one a line, an empty line, and the body or why it is not shown. */
function keptText({ headers, body, whyHidden }: JsonObject): string {
  const lines = (Array.isArray(headers) ? headers.filter(isObject) : []).map(
    ({ name, value }) => `${textOf(name)}: ${value === null ? '(not shown)' : textOf(value)}`,
  );
  return `${printableLines([...lines, '', textOf(body ?? whyHidden)].join('\n'))}\n`;
}

/** The outcome of a delivery that was processed. */
const isRefused: Row['exit'] = ({ status }) => (status === 200 ? undefined : 1);

export const sources: GroupRows = {
  name: 'sources',
  summary: 'Sources of a network: senders of signed webhooks.',
  surfaces: ['ingest-gateway'],
  text: sourceText,
  commands: {
    'list <networkId>': {
      operation: 'listSources',
      columns: 'SOURCE sourceId, NAME name, SCHEME scheme, SECRETS secrets, ENABLED enabled, CREATED createdAt',
      cells: { secrets: secretIds },
      none: 'The network has no sources.',
    },
    'get <networkId> <sourceId>': { operation: 'getSource' },
    'create <networkId>': create,
    'change <networkId> <sourceId>': change,
    'add-secret <networkId> <sourceId>': addSecret,
    'remove-secret <networkId> <sourceId> <secretId>': removeSecret,
    'deliveries <networkId> <sourceId>': {
      operation: 'listSourceDeliveries',
      columns:
        'AT at, OUTCOME outcome, CODE code, REASON reason, DELIVERIES deliveries, TYPES types, EVENT eventId, REQUEST requestId',
      none: 'There are no recent deliveries.',
    },
    'refused <networkId> <sourceId>': {
      operation: 'listRefusedDeliveries',
      examples: [
        'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA',
        'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA --reason clock-skew --all',
      ],
      details: 'SKEW: seconds by which the clock of the sender is ahead.',
      columns:
        'REFUSED refusedId, AT at, CODE code, REASON reason, SKEW skewSeconds, HEADER header, POINTER pointer, DETAIL detail, ' +
        'BYTES bodyBytes, DELIVERY deliveryId, KEPT UNTIL keptUntil, OUTCOME outcome',
      none: 'There are no matching refusals.',
    },
    'refused-counts <networkId> <sourceId>': {
      operation: 'countRefusedDeliveries',
      examples: ['sealgate sources refused-counts acme src_AAAAAAAAAAAAAAAAAAAAAA --from 2030-01-01T00:00:00Z'],
      columns: 'CODE code, REASON reason, DELIVERIES deliveries, LAST lastAt, SKEW lastSkewSeconds',
      none: 'There are no refusals.',
    },
    'refused-get <networkId> <sourceId> <refusedId>': { operation: 'getRefusedDelivery', text: rowFields },
    'kept <networkId> <sourceId> <refusedId>': {
      operation: 'readKeptDelivery',
      text: keptText,
      examples: ['sealgate sources kept acme src_AAAAAAAAAAAAAAAAAAAAAA rfd_0190b6a7c0de7000800000000000000a'],
    },
    'activity <networkId> <sourceId>': {
      operation: 'readSourceActivity',
      examples: ['sealgate sources activity acme src_AAAAAAAAAAAAAAAAAAAAAA --per day'],
      columns: 'FROM from, ACCEPTED accepted, REPLAYED replayed, CONFLICTS conflicts, REFUSED refused',
      none: 'There is no activity.',
    },
    'all-refused': {
      operation: 'listAllRefusedDeliveries',
      examples: ['sealgate sources all-refused --reason clock-skew'],
      columns:
        'REFUSED refusedId, AT at, NETWORK networkId, SOURCE sourceName, REASON reason, DETAIL detail, DELIVERY deliveryId, OUTCOME outcome',
      none: 'There are no matching refusals.',
    },
    'refused-groups': {
      operation: 'groupRefusedDeliveries',
      examples: ['sealgate sources refused-groups --from 2030-01-01T00:00:00Z'],
      columns:
        'NETWORK networkId, SOURCE sourceName, CODE code, REASON reason, DELIVERIES deliveries, FIRST firstAt, LAST lastAt, EXAMPLE exampleId',
      none: 'There are no refusals.',
    },
    'process <networkId> <sourceId> <refusedId>': {
      operation: 'processRefusedDelivery',
      examples: ['sealgate sources process acme src_AAAAAAAAAAAAAAAAAAAAAA rfd_0190b6a7c0de7000800000000000000a --yes'],
      confirm: 'Process the delivery <refusedId> again? The record that it writes stays.',
      exit: isRefused,
    },
    'test <networkId> <sourceId>': {
      operation: 'testSource',
      exit: isRefused,
    },
    'delete <networkId> <sourceId>': {
      operation: 'deleteSource',
      examples: ['sealgate sources delete acme src_AAAAAAAAAAAAAAAAAAAAAA --yes'],
      confirm: 'Delete the source <sourceId>? Its sender then gets 404.',
      done: 'The source <sourceId> is deleted. Its records stay in the ledger.',
    },
  },
};
