import type { Schemas } from '@sealgate/client';
import { compareTexts } from '../../shell/formats.ts';
import { actorInWords, type Names } from '../actor-in-words.ts';
import type { Choice } from '../offered-codes.ts';

type Problem = NonNullable<Schemas['ingestGatewayAdmin']['AuditEvent']['problem']>;

/** Why an event cannot be taken as written by the service. */
export const PROBLEM_WORDS: Readonly<Record<Problem, string>> = {
  no_mac: 'Not written by the service',
  wrong_mac: 'Changed afterwards',
  unknown_secret: 'Of a removed secret',
  unreadable: 'Unreadable',
};

const SHOWN_CHARACTERS = 240;

/** The details of an event as one line: `label: Till, replaces: key_1`. */
export function detailInWords(detail: unknown): string {
  const text =
    typeof detail === 'object' && detail !== null && !Array.isArray(detail)
      ? Object.entries(detail)
          .map(([name, value]) => `${name}: ${valueInWords(value)}`)
          .join(', ')
      : valueInWords(detail);
  const characters = [...text];
  return characters.length <= SHOWN_CHARACTERS ? text : `${characters.slice(0, SHOWN_CHARACTERS).join('')}…`;
}

function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Things that audits name, in words. */
const KINDS: Readonly<Record<string, string>> = {
  apiKey: 'API key',
  attachment: 'attachment',
  case: 'case',
  channel: 'channel',
  evidence: 'evidence',
  identity: 'identity',
  invitation: 'invitation',
  key: 'key',
  list: 'list',
  member: 'member',
  network: 'network',
  org: 'organisation',
  policy: 'policy',
  record: 'record',
  risk: 'risk',
  secret: 'secret',
  source: 'source',
  subject: 'subject',
  venue: 'venue',
};

/** Actions whose code says too little. */
const ACTIONS: Readonly<Record<string, string>> = {
  'channel.archive': 'Archive a channel',
  'channel.declare-loss': 'Declare the loss of a channel',
  'list.export': 'Export a list',
  'secret.use': 'Use a new server secret',
  'source.look': 'Look at a kept delivery',
  'source.process': 'Process a delivery again',
  'source.test': 'Send a test delivery',
};

/** `key.revoke` is "Revoke key"; a code of another form stays as it is. */
export function actionInWords(action: string): string {
  const [kind, verb, ...rest] = action.split('.');
  if (Object.hasOwn(ACTIONS, action)) return ACTIONS[action]!;
  if (!kind || !verb || rest.length > 0) return action;
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1).replaceAll(/[_-]/g, ' ')} ${kindInWords(kind)}`;
}

export const kindInWords = (kind: string): string =>
  Object.hasOwn(KINDS, kind)
    ? KINDS[kind]!
    : kind.replaceAll(/[_-]/g, ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** What happens most at the services; others are typed. */
const FREQUENT = [
  ...['key.mint', 'key.rotate', 'key.revoke', 'network.create', 'network.change', 'network.delete'],
  ...['source.create', 'source.change', 'source.delete', 'case.create', 'case.decide', 'case.seal', 'case.export'],
  ...['subject.suspend', 'subject.reinstate', 'subject.revoke', 'venue.create', 'venue.change'],
  ...['policy.create', 'policy.change', 'org.create', 'member.create', 'member.delete', 'record.erase'],
  ...Object.keys(ACTIONS),
];

const choicesOf = (codes: readonly string[], inWords: (code: string) => string): Choice[] =>
  [...new Set(codes)]
    .map((value) => ({ value, label: inWords(value) }))
    .toSorted((one, other) => compareTexts(one.label, other.label));

interface Seen {
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly names: Names;
}

/** What a filter of an audit offers: what is frequent, and what its newest events have. */
export const choicesIn = (seen: readonly Seen[]) => ({
  actors: choicesOf(
    seen.map(({ actor }) => actor),
    (actor) => actorInWords(actor, Object.assign({}, ...seen.map(({ names }) => names)) as Names),
  ),
  actions: choicesOf([...FREQUENT, ...seen.map(({ action }) => action)], actionInWords),
  kinds: choicesOf([...Object.keys(KINDS), ...seen.map(({ resource }) => resource)], kindInWords),
});
