import type { Schemas } from '@sealgate/client';
import { compareTexts } from '../../shell/formats.ts';
import { actorInWords, type Names } from '../actor-in-words.ts';
import type { Choice } from '../offered-codes.ts';
import * as texts from './texts.ts';

type Problem = NonNullable<Schemas['ingestGatewayAdmin']['AuditEvent']['problem']>;

/** Why an event cannot be taken as written by the service. */
export const PROBLEM_WORDS: Readonly<Record<Problem, string>> = {
  no_mac: texts.notWrittenByTheService,
  wrong_mac: texts.changedAfterwards,
  unknown_secret: texts.ofARemovedSecret,
  unreadable: texts.unreadable,
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

/** `key.revoke` is "Revoke key"; a code of another form stays as it is. */
export function actionInWords(action: string): string {
  const [kind, verb, ...rest] = action.split('.');
  if (Object.hasOwn(texts.auditActions, action)) return texts.auditActions[action]!;
  if (!kind || !verb || rest.length > 0) return action;
  return texts.auditAction(verb.replaceAll(/[_-]/g, ' '), kindInWords(kind));
}

export const kindInWords = (kind: string): string =>
  Object.hasOwn(texts.auditKinds, kind)
    ? texts.auditKinds[kind]!
    : kind.replaceAll(/[_-]/g, ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** What happens most at the services; others are typed. */
const FREQUENT = [
  ...['key.mint', 'key.rotate', 'key.revoke', 'network.create', 'network.change', 'network.delete'],
  ...['source.create', 'source.change', 'source.delete', 'case.create', 'case.decide', 'case.seal', 'case.export'],
  ...['subject.suspend', 'subject.reinstate', 'subject.revoke', 'venue.create', 'venue.change'],
  ...['policy.create', 'policy.change', 'org.create', 'member.create', 'member.delete', 'record.erase'],
  ...Object.keys(texts.auditActions),
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
  kinds: choicesOf([...Object.keys(texts.auditKinds), ...seen.map(({ resource }) => resource)], kindInWords),
});
