import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import {
  type CommandSpec,
  integerOption,
  limitOptions,
  type LimitOptions,
  limitsOf,
  limitsText,
  listOption,
  yesOption,
} from '../command-spec.ts';
import { UsageError } from '../errors.ts';
import { pathOfSource, refusalCommands } from './source-refusals.ts';
import { given, isObject, type JsonObject, readJsonFile, textOf } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { cellText, type Column, type Format, grantText, printable, rowFields } from '../row-table.ts';
import {
  secretFrom,
  secretOptions,
  type SecretOptions,
  signatureOptions,
  type SignatureOptions,
  signingOf,
} from './source-signature.ts';

const secretIds: Format = (value) =>
  Array.isArray(value) ? value.map((one) => (isObject(one) ? textOf(one['id']) : '')).join(', ') : cellText(value);

const COLUMNS: readonly Column[] = [
  { title: 'SOURCE', member: 'sourceId' },
  { title: 'NAME', member: 'name' },
  { title: 'SCHEME', member: 'scheme' },
  { title: 'SECRETS', member: 'secrets', format: secretIds },
  { title: 'ENABLED', member: 'enabled' },
  { title: 'CREATED', member: 'createdAt' },
];

const DELIVERY_COLUMNS: readonly Column[] = [
  { title: 'AT', member: 'at' },
  { title: 'OUTCOME', member: 'outcome' },
  { title: 'CODE', member: 'code' },
  { title: 'REASON', member: 'reason' },
  { title: 'DELIVERIES', member: 'deliveries' },
  { title: 'TYPES', member: 'types' },
  { title: 'EVENT', member: 'eventId' },
  { title: 'REQUEST', member: 'requestId' },
];

const FORMATS: Readonly<Record<string, Format>> = {
  secrets: secretIds,
  allowedTypes: grantText,
  limits: (value) => (value === null ? "the network's" : limitsText(value)),
};

const sourceText = (row: JsonObject): string => rowFields(row, FORMATS);

interface SettingOptions extends LimitOptions, SignatureOptions {
  readonly deliveryIdFrom?: string;
  readonly channel?: string[];
  readonly type?: string;
  readonly typeFrom?: string;
  readonly idFrom?: string;
  readonly ownerFrom?: string;
  readonly toleranceSeconds?: number;
  readonly allowedType?: string[];
  readonly maxBytes?: number;
  readonly keepRefusedHours?: number;
  readonly settings?: string;
}

const settingOptions = (): Option[] => [
  listOption('--channel <name>', "the channel of its records (default: the network's first)"),
  new Option('--type <type>', 'the type of every record'),
  new Option('--type-from <place>', 'source of the type: header:<name> or a JSON pointer'),
  new Option('--delivery-id-from <place>', 'source of the delivery id'),
  new Option('--id-from <place>', 'source of the record id, and of the delivery id where nothing else names it'),
  new Option('--owner-from <place>', 'source of the record owner'),
  integerOption('--tolerance-seconds <n>', 'allowed clock skew of a signed timestamp (default: 300)'),
  listOption('--allowed-type <type>', 'a type it may deliver (default: all)'),
  integerOption('--max-bytes <n>', 'the largest body, 1048576 to 26214400 (default: 1048576)'),
  integerOption('--keep-refused-hours <n>', 'keep refused deliveries, encrypted, to process them again (default: 0)'),
  new Option('--settings <file>', 'members as JSON, in place of options'),
  ...signatureOptions(),
  ...limitOptions(),
];

function settingsOf(options: SettingOptions, before?: JsonObject): { [member: string]: JsonValue } {
  const {
    channel: channels,
    type,
    typeFrom,
    deliveryIdFrom,
    idFrom,
    ownerFrom,
    toleranceSeconds,
    allowedType: allowedTypes,
  } = options;
  const further = options.settings === undefined ? {} : readJsonFile(options.settings);
  if (!isObject(further)) throw new UsageError(`${options.settings ?? ''} is not a JSON object.`);
  const { maxBytes, keepRefusedHours } = options;
  const limits = limitsOf(options);
  return {
    ...further,
    ...given({ channels, type, typeFrom, deliveryIdFrom, idFrom, ownerFrom, toleranceSeconds, allowedTypes, limits }),
    ...signingOf(options, before),
    ...given({ maxBytes, keepRefusedHours }),
  };
}

const shownOnce = (value: string): string => `
  ${printable(value)}

This is the only time that the secret is shown: give it to the sender now. Nobody can show it again.
`;

const list: CommandSpec<PageOptions> = {
  usage: 'list <networkId>',
  summary: 'List the sources of a network, newest first',
  examples: ['sealgate sources list acme'],
  options: pageOptions(),
  run: (session, [networkId = ''], options) => {
    const path = apiPath`/networks/${networkId}/sources`;
    return printList(session, { path, columns: COLUMNS, none: 'The network has no sources.' }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <networkId> <sourceId>',
  summary: 'Read a source, without its secrets',
  examples: ['sealgate sources get acme src_AAAAAAAAAAAAAAAAAAAAAA'],
  run: async (session, [networkId = '', sourceId = '']) => {
    session.show(await session.api.json({ method: 'GET', path: pathOfSource(networkId, sourceId) }), sourceText);
  },
};

/** Senders whose scheme and settings the service knows. */
const PRESETS = [
  ...['clerk', 'resend', 'orb', 'openai', 'replicate', 'supabase', 'paddle', 'elevenlabs', 'webflow', 'grafana'],
  ...['gitlab', 'sendgrid', 'vercel', 'woocommerce', 'hookdeck', 'chargebee', 'postmark', 'deepgram', 'cursor'],
];

interface CreateOptions extends SettingOptions, SecretOptions {
  readonly name: string;
  readonly preset?: string;
  readonly scheme?: string;
}

const create: CommandSpec<CreateOptions> = {
  usage: 'create <networkId>',
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
  options: [
    new Option('--name <text>', 'a display name').makeOptionMandatory(),
    new Option('--preset <sender>', `the sender: ${PRESETS.join(', ')}; or a scheme`).conflicts('scheme'),
    new Option('--scheme <scheme>', 'standard-webhooks, github, stripe, shopify, slack, hmac or token'),
    ...secretOptions(new Option('--secret-id <id>', 'the name of the secret').default('k1')),
    ...settingOptions(),
  ],
  run: async (session, [networkId = ''], options) => {
    const { name, preset, scheme, secretId = 'k1' } = options;
    const sender = preset ?? scheme;
    if (sender === undefined) throw new UsageError('Either --preset or --scheme is needed.');
    if (session.json && options.secretFile === undefined) throw new UsageError('--json needs --secret-file.');
    const { value, isNew } = secretFrom(options, sender);
    const secrets = [{ id: secretId, value }];
    const body = { name, ...given({ preset, scheme }), secrets, ...settingsOf(options) };
    const answer = await session.api.json({ method: 'POST', path: apiPath`/networks/${networkId}/sources`, body });
    const shown = isNew ? shownOnce(value) : '';
    session.show(answer, (row) => `The source was created.\n${shown}\n${sourceText(row)}`);
  },
};

interface ChangeOptions extends SettingOptions {
  readonly name?: string;
  readonly enable?: true;
  readonly disable?: true;
}

const change: CommandSpec<ChangeOptions> = {
  usage: 'change <networkId> <sourceId>',
  summary: 'Change name or settings of a source, or enable or disable it',
  details:
    'A null member in the file of --settings is reset to the default of the scheme. With an option of the signature or\n' +
    'token the source is read first, because a change lists all of their members.',
  examples: [
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --disable',
    'sealgate sources change acme src_AAAAAAAAAAAAAAAAAAAAAA --allowed-type push --allowed-type release',
  ],
  options: [
    new Option('--name <text>', 'a display name'),
    new Option('--enable', 'accept its deliveries'),
    new Option('--disable', 'reject its deliveries with 404').conflicts('enable'),
    ...settingOptions(),
  ],
  run: async (session, [networkId = '', sourceId = ''], options) => {
    const { name, enable, disable } = options;
    const path = pathOfSource(networkId, sourceId);
    const isPartial = Object.keys(signingOf(options)).length > 0;
    const before = isPartial ? (await session.api.json({ method: 'GET', path })).value : undefined;
    const body = {
      ...settingsOf(options, before),
      ...given({ name, enabled: enable ?? (disable === true ? false : undefined) }),
    };
    if (Object.keys(body).length === 0) throw new UsageError('Nothing to change.');
    const answer = await session.api.json({ method: 'PATCH', path, body });
    session.show(answer, (row) => `The source was changed.\n\n${sourceText(row)}`);
  },
};

const addSecret: CommandSpec<SecretOptions> = {
  usage: 'add-secret <networkId> <sourceId>',
  summary: 'Add a secret to a source; a generated one is shown only once',
  details:
    'To rotate a secret: add the new one, give it to the sender, wait until deliveries use it, then remove the old one.\n' +
    'Reads the source first, because a change lists all of its secrets.',
  readsFirst: true,
  examples: ['sealgate sources add-secret acme src_AAAAAAAAAAAAAAAAAAAAAA --secret-id k2'],
  options: secretOptions(new Option('--secret-id <id>', 'the name of the secret').makeOptionMandatory()),
  run: async (session, [networkId = '', sourceId = ''], options) => {
    if (session.json && options.secretFile === undefined) throw new UsageError('--json needs --secret-file.');
    const path = pathOfSource(networkId, sourceId);
    const { value: source } = await session.api.json({ method: 'GET', path });
    const { value, isNew } = secretFrom(options, textOf(source['scheme']));
    const secrets = [...idsOf(source), { id: options.secretId ?? '', value }];
    const answer = await session.api.json({ method: 'PATCH', path, body: { secrets } });
    const shown = isNew ? shownOnce(value) : '';
    session.show(answer, (row) => `The secret was added.\n${shown}\n${sourceText(row)}`);
  },
};

const removeSecret: CommandSpec = {
  usage: 'remove-secret <networkId> <sourceId> <secretId>',
  summary: 'Remove a secret from a source: deliveries signed with it are rejected from now on',
  details: 'Reads the source first, because a change lists all of its secrets.',
  readsFirst: true,
  examples: ['sealgate sources remove-secret acme src_AAAAAAAAAAAAAAAAAAAAAA k1 --yes'],
  options: [yesOption()],
  run: async (session, [networkId = '', sourceId = '', secretId = '']) => {
    const path = pathOfSource(networkId, sourceId);
    const { value: source } = await session.api.json({ method: 'GET', path });
    const secrets = idsOf(source);
    if (!secrets.some(({ id }) => id === secretId)) throw new UsageError(`The source has no secret ${secretId}.`);
    await session.confirm(`Remove the secret ${secretId}? Deliveries signed with it are rejected.`);
    const body = { secrets: secrets.filter(({ id }) => id !== secretId) };
    const answer = await session.api.json({ method: 'PATCH', path, body });
    session.show(answer, (row) => `The secret ${secretId} is gone.\n\n${sourceText(row)}`);
  },
};

const deliveries: CommandSpec<PageOptions> = {
  usage: 'deliveries <networkId> <sourceId>',
  summary: 'List the outcomes of the last deliveries to a source, newest first',
  examples: ['sealgate sources deliveries acme src_AAAAAAAAAAAAAAAAAAAAAA'],
  options: pageOptions(),
  run: (session, [networkId = '', sourceId = ''], options) => {
    const path = `${pathOfSource(networkId, sourceId)}/deliveries`;
    return printList(session, { path, columns: DELIVERY_COLUMNS, none: 'There are no recent deliveries.' }, options);
  },
};

const test: CommandSpec = {
  usage: 'test <networkId> <sourceId>',
  summary: 'Sign and process a sample delivery; the record it writes stays',
  examples: ['sealgate sources test acme src_AAAAAAAAAAAAAAAAAAAAAA'],
  run: async (session, [networkId = '', sourceId = '']) => {
    const path = `${pathOfSource(networkId, sourceId)}/test`;
    const answer = await session.api.json({ method: 'POST', path, body: {} });
    session.show(answer, (row) => rowFields(row));
    return answer.value['status'] === 200 ? undefined : 1;
  },
};

const remove: CommandSpec = {
  usage: 'delete <networkId> <sourceId>',
  summary: 'Delete a source and its secrets; its records stay',
  examples: ['sealgate sources delete acme src_AAAAAAAAAAAAAAAAAAAAAA --yes'],
  options: [yesOption()],
  run: async (session, [networkId = '', sourceId = '']) => {
    await session.confirm(`Delete the source ${sourceId}? Its sender then gets 404.`);
    await session.api.nothing({ method: 'DELETE', path: pathOfSource(networkId, sourceId) });
    session.say(`The source ${sourceId} is deleted. Its records stay in the ledger.`);
  },
};

/** Secrets of a change: existing ones need no value. */
function idsOf(source: JsonObject): { id: string; value?: string }[] {
  const secrets = source['secrets'];
  return Array.isArray(secrets) ? secrets.filter(isObject).map((one) => ({ id: textOf(one['id']) })) : [];
}

export const sourceCommands: readonly CommandSpec[] = [
  ...[list, get, create, change, addSecret, removeSecret, deliveries, ...refusalCommands, test, remove],
];
