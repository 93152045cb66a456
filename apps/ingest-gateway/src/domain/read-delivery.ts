import { isUtf8 } from 'node:buffer';
import { AppError, type Fault } from '@sealgate/errors';
import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import { DEFAULT_TYPE, DOT_SEGMENTS, isObject, isText, RECORD_LIMITS, stripSensitive } from './read-submission.ts';

/** How the body of a delivery is parsed. */
export type BodyForm = 'json' | 'form' | 'text';

/** A known text (from a header), or a pointer into the body; null where the source configures neither. */
export type TextPlace = { readonly text: string } | { readonly pointer: string } | null;

/** What reading a delivery depends on besides its bytes. Plain data, so it can be posted to another thread. */
export interface DeliveryRules {
  readonly form: BodyForm;
  readonly type: TextPlace;
  readonly id: TextPlace;
  readonly owner: TextPlace;
  readonly deliveryId: TextPlace;
  /** Whether a body of type `url_verification` is a challenge. */
  readonly answersChallenge: boolean;
}

/** A delivery as it will be written: sensitive members removed, content in canonical JSON. */
export interface CanonicalDelivery {
  readonly kind: 'delivery';
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string;
  /** Undefined where the body does not contain it. */
  readonly deliveryId: string | undefined;
  /** The challenge that the sender expects to be returned; nothing is written then. */
  readonly challenge: string | undefined;
  readonly strippedFields: number;
}

const DELIVERY_ID_MAX_CODE_POINTS = 256;
const CHALLENGE_MAX_CODE_POINTS = 1024;
const MAX_FORM_MEMBERS = 1000;

/**
 * Reads the body of a delivery as a whole: its members have no other meaning here.
 *
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER, UNSAFE_NUMBER; then INVALID_REQUEST with every fault.
 * They carry only code, detail and faults.
 */
export function readDelivery(bytes: Uint8Array, rules: DeliveryRules): CanonicalDelivery {
  const body = READERS[rules.form](bytes);
  const { value: data, removed: strippedFields } = stripSensitive(isObject(body) ? body : { value: body });
  const faults: Fault[] = [];
  const textOf = (place: TextPlace, what: string, maxCodePoints: number) =>
    place === null ? undefined : textAt(data, place, { what, maxCodePoints, faults });
  const id = textOf(rules.id, 'The id of the record', RECORD_LIMITS.idMaxCodePoints);
  if (rules.id !== null && id === undefined && faults.length === 0) faults.push(absent(rules.id));
  if (id !== undefined && DOT_SEGMENTS.has(id)) faults.push(fault(rules.id, 'No path could name a record of this id.'));
  const type = textOf(rules.type, 'The type of the record', RECORD_LIMITS.typeMaxCodePoints) ?? DEFAULT_TYPE;
  const owner = textOf(rules.owner, 'The owner of the record', RECORD_LIMITS.ownerMaxCodePoints) ?? null;
  const deliveryId = textOf(rules.deliveryId, 'The delivery id', DELIVERY_ID_MAX_CODE_POINTS);
  if (faults.length > 0)
    throw new AppError('INVALID_REQUEST', 'The delivery does not match the configuration of its source.', { faults });
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

/** Members by name; a repeated name becomes a list. `payload` is parsed where it is JSON, as some senders send it. */
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

function textAt(
  data: JsonValue,
  place: NonNullable<TextPlace>,
  { what, maxCodePoints, faults }: Wanted,
): string | undefined {
  const value = 'text' in place ? place.text : valueAt(data, place.pointer);
  if (value === undefined || value === null) return undefined;
  // Many senders use numeric ids.
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text === 'string' && isText(text, maxCodePoints)) return text;
  const detail = `${what} is a whole number, or a text of 1 to ${maxCodePoints} characters without control characters.`;
  faults.push(fault(place, detail));
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

function absent(place: NonNullable<TextPlace>): Fault {
  return fault(place, 'The id of the record is missing.');
}

function fault(place: TextPlace, detail: string): Fault {
  return place !== null && 'pointer' in place
    ? { in: 'body', pointer: place.pointer, detail }
    : { in: 'header', pointer: '', detail };
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_JSON', detail, { faults: [{ in: 'body', pointer: '', detail }] });
}
