import { LIMITS, networkLimitsText, PERIOD } from '../common-rows.ts';
import { UsageError } from '../errors.ts';
import { isObject, type JsonObject, readJsonFile, textOf } from '../json-object.ts';
import { operations } from '../operations.ts';
import type { JsonMembers, OptionRows } from '../option-rows.ts';
import type { GroupRows, Row } from '../row-command.ts';
import { cellText, type Format, grantText, printable, rowFields } from '../row-table.ts';
import type { Session } from '../session.ts';
import { SECRET_FILE, secretFrom, SIGNATURE, withOthers } from './source-signature.ts';

const secretIds: Format = (value) =>
  Array.isArray(value) ? value.map((one) => (isObject(one) ? textOf(one['id']) : '')).join(', ') : cellText(value);

const sourceText = (row: JsonObject): string =>
  rowFields(row, { secrets: secretIds, allowedTypes: grantText, limits: networkLimitsText });

const SETTINGS: OptionRows = {
  '--channel <name>': "the channel of its records (default: the network's first)",
  '--type <type>': 'the type of every record',
  '--type-from <place>': 'source of the type: header:<name> or a JSON pointer',
  '--delivery-id-from <place>': 'source of the delivery id',
  '--id-from <place>': 'source of the record id, and of the delivery id where nothing else names it',
  '--owner-from <place>': 'source of the record owner',
  '--tolerance-seconds <n>': 'allowed clock skew of a signed timestamp (default: 300)',
  '--allowed-type <type>': 'a type it may deliver (default: all)',
  '--max-bytes <n>': 'the largest body, 1048576 to 26214400 (default: 1048576)',
  '--keep-refused-hours <n>': 'keep refused deliveries, encrypted, to process them again (default: 0)',
  '--settings <file>': { words: 'members as JSON, in place of options', sets: null },
  ...SIGNATURE,
  ...LIMITS,
};

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

/** Senders whose scheme and settings the service knows: a preset is one of them, or a scheme. */
const { preset, scheme } = operations['ingest-gateway']?.['createSource']?.body ?? {};
const SENDERS = preset?.choices?.filter((name) => scheme?.choices?.includes(name) !== true) ?? [];

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
    '--name <text>': 'a display name',
    '--preset <sender>': { words: `the sender: ${SENDERS.join(', ')}; or a scheme`, conflicts: ['scheme'] },
    '--scheme <scheme>': '<choices>',
    '--secret-id <id>': { words: 'the name of the secret', sets: null, default: 'k1' },
    ...SECRET_FILE,
    ...SETTINGS,
  },
  complete: async (body, { session, given }) => {
    const sender = body['preset'] ?? body['scheme'];
    if (sender === undefined) throw new UsageError('Either --preset or --scheme is needed.');
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
  summary: 'Change name or settings of a source, or enable or disable it',
  details:
    'A null member in the file of --settings is reset to the default of the scheme. With an option of the signature or\n' +
    'token the source is read first, because a change lists all of their members.',
  examples: [
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --disable',
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --allowed-type push --allowed-type release',
  ],
  options: {
    '--name <text>': 'a display name',
    '--enable': { words: 'accept its deliveries', sets: 'enabled', to: true },
    '--disable': { words: 'reject its deliveries with 404', sets: 'enabled', to: false, conflicts: ['enable'] },
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
    '--secret-id <id>': { words: 'the name of the secret', sets: null, required: true },
    ...SECRET_FILE,
  },
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
  options: {},
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
      summary: 'List the sources of a network, newest first',
      columns: 'SOURCE sourceId, NAME name, SCHEME scheme, SECRETS secrets, ENABLED enabled, CREATED createdAt',
      cells: { secrets: secretIds },
      none: 'The network has no sources.',
    },
    'get <networkId> <sourceId>': {
      operation: 'getSource',
      summary: 'Read a source, without its secrets',
    },
    'create <networkId>': create,
    'change <networkId> <sourceId>': change,
    'add-secret <networkId> <sourceId>': addSecret,
    'remove-secret <networkId> <sourceId> <secretId>': removeSecret,
    'deliveries <networkId> <sourceId>': {
      operation: 'listSourceDeliveries',
      summary: 'List the outcomes of the last deliveries to a source, newest first',
      columns:
        'AT at, OUTCOME outcome, CODE code, REASON reason, DELIVERIES deliveries, TYPES types, EVENT eventId, REQUEST requestId',
      none: 'There are no recent deliveries.',
    },
    'refused <networkId> <sourceId>': {
      operation: 'listRefusedDeliveries',
      details: 'The sender was told nothing but the status. SKEW: seconds by which the clock of the sender is ahead.',
      examples: [
        'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA',
        'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA --reason clock-skew --all',
      ],
      options: {
        '--code <code>': 'only with this problem code, such as PAYLOAD_TOO_LARGE',
        '--reason <reason>': 'only for this reason, such as no-matching-secret',
        ...PERIOD,
      },
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
    'process <networkId> <sourceId> <refusedId>': {
      operation: 'processRefusedDelivery',
      details:
        'Every check is made anew; the timestamp is compared with the time at which it was received. It is written once,\n' +
        'however often this is called and whatever its sender repeats: the first outcome is shown again. Only a source\n' +
        'with --keep-refused-hours keeps deliveries, from then on.',
      examples: ['sealgate sources process acme src_AAAAAAAAAAAAAAAAAAAAAA rfd_0190b6a7c0de7000800000000000000a --yes'],
      confirm: 'Process the delivery <refusedId> again? The record that it writes stays.',
      exit: isRefused,
    },
    'test <networkId> <sourceId>': {
      operation: 'testSource',
      summary: 'Sign and process a sample delivery; the record it writes stays',
      exit: isRefused,
    },
    'delete <networkId> <sourceId>': {
      operation: 'deleteSource',
      summary: 'Delete a source and its secrets; its records stay',
      examples: ['sealgate sources delete acme src_AAAAAAAAAAAAAAAAAAAAAA --yes'],
      confirm: 'Delete the source <sourceId>? Its sender then gets 404.',
      done: 'The source <sourceId> is deleted. Its records stay in the ledger.',
    },
  },
};
