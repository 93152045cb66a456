import { isUtf8 } from 'node:buffer';
import { AppError, type Fault } from '@sealgate/errors';
import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import { DEFAULT_TYPE, DOT_SEGMENTS, isObject, isText, RECORD_LIMITS } from './parse-record.ts';
import { stripSensitive } from './sensitive-names.ts';

/** How a body is made an object of. */
export type BodyForm = 'json' | 'form' | 'text';

/** A text that is known already (a header's), or where it is in the body; null where nobody says. */
export type Told = { readonly text: string } | { readonly pointer: string } | null;

/** What the reading of a delivery depends on besides its bytes. Plain data, so that it can go to another thread. */
export interface DeliveryRules {
  readonly form: BodyForm;
  readonly type: Told;
  readonly id: Told;
  readonly owner: Told;
  readonly deliveryId: Told;
  /** Whether a body of type `url_verification` is a question. */
  readonly answersChallenge: boolean;
}

/** A delivery as it will be written: stripped, its content canonical JSON. */
export interface CanonicalDelivery {
  readonly kind: 'delivery';
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string;
  /** Undefined where the body does not hold it. */
  readonly deliveryId: string | undefined;
  /** What the sender wants to hear; nothing is written then. */
  readonly challenge: string | undefined;
  readonly strippedFields: number;
}

const DELIVERY_ID_MAX_CODE_POINTS = 256;
const CHALLENGE_MAX_CODE_POINTS = 1024;
const MAX_FORM_MEMBERS = 1000;

/**
 * Reads the body of a delivery whole, whatever its members mean to us elsewhere.
 *
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER, UNSAFE_NUMBER; then INVALID_REQUEST with every fault. Code,
 * detail and faults are all that they carry.
 */
export function readDelivery(bytes: Uint8Array, rules: DeliveryRules): CanonicalDelivery {
  const body = READERS[rules.form](bytes);
  const { value: data, removed: strippedFields } = stripSensitive(isObject(body) ? body : { value: body });
  const faults: Fault[] = [];
  const textOf = (told: Told, what: string, maxCodePoints: number) =>
    told === null ? undefined : toldText(data, told, { what, maxCodePoints, faults });
  const id = textOf(rules.id, 'The id of the record', RECORD_LIMITS.idMaxCodePoints);
  if (rules.id !== null && id === undefined && faults.length === 0) faults.push(absent(rules.id));
  if (id !== undefined && DOT_SEGMENTS.has(id)) faults.push(fault(rules.id, 'No path could name a record of this id.'));
  const type = textOf(rules.type, 'The type of the record', RECORD_LIMITS.typeMaxCodePoints) ?? DEFAULT_TYPE;
  const owner = textOf(rules.owner, 'The owner of the record', RECORD_LIMITS.ownerMaxCodePoints) ?? null;
  const deliveryId = textOf(rules.deliveryId, 'The delivery id', DELIVERY_ID_MAX_CODE_POINTS);
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The delivery is not as its source says.', { faults });
  const challenge = rules.answersChallenge ? challengeIn(data) : undefined;
  return { kind: 'delivery', id, type, owner, data: canonical(data), deliveryId, challenge, strippedFields };
}

const READERS: Readonly<Record<BodyForm, (bytes: Uint8Array) => JsonValue>> = {
  json: parseStrict,
  form: formMembers,
  text: textOfBytes,
};

function textOfBytes(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8.');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Members by name; one that comes several times is a list. `payload` is what some senders put their JSON into. */
function formMembers(bytes: Uint8Array): JsonValue {
  const members = new Map<string, JsonValue>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(textOfBytes(bytes))) {
    count += 1;
    if (count > MAX_FORM_MEMBERS) throw invalid(`A form holds at most ${MAX_FORM_MEMBERS} members.`);
    if (name === '__proto__') throw invalid('A member of the form is named __proto__.');
    const before = members.get(name);
    members.set(name, before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]);
  }
  const payload = members.get('payload');
  if (typeof payload === 'string' && /^\s*[{[]/.test(payload))
    members.set('payload', parseStrict(Buffer.from(payload)));
  return Object.fromEntries(members);
}

interface Wanted {
  readonly what: string;
  readonly maxCodePoints: number;
  readonly faults: Fault[];
}

function toldText(
  data: JsonValue,
  told: NonNullable<Told>,
  { what, maxCodePoints, faults }: Wanted,
): string | undefined {
  const value = 'text' in told ? told.text : valueAt(data, told.pointer);
  if (value === undefined || value === null) return undefined;
  // Many senders number what they send.
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text === 'string' && isText(text, maxCodePoints)) return text;
  const detail = `${what} is a whole number, or a text of 1 to ${maxCodePoints} characters without control characters.`;
  faults.push(fault(told, detail));
  return undefined;
}

/** RFC 6901, section 4; undefined where there is no such value. */
export function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = /^(?:0|[1-9]\d{0,6})$/.test(name) ? at[Number(name)] : undefined;
    else if (at !== undefined && isObject(at) && Object.hasOwn(at, name)) at = at[name];
    else return undefined;
  }
  return at;
}

function challengeIn(data: JsonValue): string | undefined {
  const challenge = valueAt(data, '/type') === 'url_verification' ? valueAt(data, '/challenge') : undefined;
  return typeof challenge === 'string' && isText(challenge, CHALLENGE_MAX_CODE_POINTS) ? challenge : undefined;
}

function absent(told: NonNullable<Told>): Fault {
  return fault(told, 'The id of the record is not there.');
}

function fault(told: Told, detail: string): Fault {
  return told !== null && 'pointer' in told
    ? { in: 'body', pointer: told.pointer, detail }
    : { in: 'header', pointer: '', detail };
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_JSON', detail, { faults: [{ in: 'body', pointer: '', detail }] });
}
