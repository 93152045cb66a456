import { isUtf8 } from 'node:buffer';
import { AppError, type Fault } from '@sealgate/errors';
import {
  Bytes,
  canonical,
  cutMembers,
  escapePointer,
  parseStrict,
  scalarAt,
  type JsonValue,
  type StrictCode,
  type TextScalar,
} from '@sealgate/json';
import { hasTooManyValues, requireFits } from './delivery-bounds.ts';
import {
  DEFAULT_TYPE,
  DOT_SEGMENTS,
  isObject,
  isText,
  RECORD_LIMITS,
  SENSITIVE_NAMES,
  stripSensitive,
} from './read-submission.ts';

/** How the body of a delivery is parsed. */
export type BodyForm = 'json' | 'form' | 'text';

/** A known text (from a header), or a pointer into the body; null where the source configures neither. */
export type TextPlace = { readonly text: string } | { readonly pointer: string } | null;

/** What reading a delivery depends on besides its bytes. Plain data, so it can be posted to another thread. */
export interface DeliveryRules {
  readonly form: BodyForm;
  readonly type: TextPlace;
  /** The type where that place has none. */
  readonly typeOtherwise?: string;
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
  /** Why JSON in it is kept as text; absent where all of it was parsed. */
  readonly unparsed?: Unparsed;
}

/** Why JSON is kept as text: it is not strict, or holds more values than a process can hold as objects. */
type Unparsed = StrictCode | 'TOO_MANY_VALUES';

const DELIVERY_ID_MAX_CODE_POINTS = 256;
const CHALLENGE_MAX_CODE_POINTS = 1024;
const MAX_FORM_MEMBERS = 1000;

/** The body of a delivery. */
interface Body {
  readonly data: { [member: string]: JsonValue };
  /** JSON that `data` holds as text, because it is not strict. Its sensitive members were cut. */
  readonly texts: readonly JsonText[];
  readonly removed: number;
}

interface JsonText {
  /** Where a pointer into the body enters the text. */
  readonly pointer: string;
  readonly bytes: Bytes;
  readonly reason: Unparsed;
}

/**
 * Reads the body of a delivery as a whole: its members have no other meaning here. An authentic delivery is never lost,
 * so JSON that is not strict is kept as text; types, ids and challenges are then read from it as it is written.
 *
 * @throws AppError INVALID_JSON for what is no JSON at all; then INVALID_REQUEST with every fault; then PAYLOAD_TOO_LARGE
 * for content that JSON makes much larger. They carry only code, detail and faults.
 */
export function readDelivery(bytes: Uint8Array, rules: DeliveryRules): CanonicalDelivery {
  const body = READERS[rules.form](Bytes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const faults: Fault[] = [];
  const textOf = (place: TextPlace, what: string, maxCodePoints: number) =>
    place === null ? undefined : textAt(body, place, { what, maxCodePoints, faults });
  const id = textOf(rules.id, 'The id of the record', RECORD_LIMITS.idMaxCodePoints);
  if (rules.id !== null && id === undefined && faults.length === 0) faults.push(absent(rules.id));
  if (id !== undefined && DOT_SEGMENTS.has(id)) faults.push(fault(rules.id, 'No path could name a record of this id.'));
  const type =
    textOf(rules.type, 'The type of the record', RECORD_LIMITS.typeMaxCodePoints) ??
    rules.typeOtherwise ??
    DEFAULT_TYPE;
  const owner = textOf(rules.owner, 'The owner of the record', RECORD_LIMITS.ownerMaxCodePoints) ?? null;
  const deliveryId = textOf(rules.deliveryId, 'The delivery id', DELIVERY_ID_MAX_CODE_POINTS);
  if (faults.length > 0)
    throw new AppError('INVALID_REQUEST', 'The delivery does not match the configuration of its source.', { faults });
  const [unparsed] = body.texts;
  requireFits(body.data, bytes.length);
  return {
    kind: 'delivery',
    id,
    type,
    owner,
    data: canonical(body.data),
    deliveryId,
    challenge: rules.answersChallenge ? challengeIn(body) : undefined,
    strippedFields: body.removed,
    ...(unparsed === undefined ? {} : { unparsed: unparsed.reason }),
  };
}

const READERS: Readonly<Record<BodyForm, (bytes: Bytes) => Body>> = { json: wholeBody, form: formBody, text: textBody };

/** A JSON value, or the text of one that is not strict. */
type ReadJson = { readonly value: JsonValue } | (Omit<JsonText, 'pointer'> & { readonly removed: number });

/**
 * Parses JSON where it is strict and not of too many values. Else cuts sensitive members out of its text, and keeps the
 * text.
 * @throws AppError INVALID_JSON for what is no JSON, or no UTF-8.
 */
function readJson(bytes: Bytes): ReadJson {
  if (hasTooManyValues(bytes)) {
    const { bytes: kept, removed } = cutMembers(bytes, SENSITIVE_NAMES);
    return { bytes: kept, removed, reason: 'TOO_MANY_VALUES' };
  }
  try {
    return { value: parseStrict(bytes) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { bytes: kept, removed } = cutMembers(bytes, SENSITIVE_NAMES);
    // parseStrict throws no other codes.
    return { bytes: kept, removed, reason: error.code as StrictCode };
  }
}

const OBJECT_OR_ARRAY = /^\ufeff?[\t\n\r ]*[{[]/;

/** `readJson` of a text that is a JSON object or array; undefined for any other text. */
function jsonIn(text: string): ReadJson | undefined {
  if (!OBJECT_OR_ARRAY.test(text)) return undefined;
  try {
    return readJson(Bytes.from(text));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function wholeBody(bytes: Bytes): Body {
  return bodyOf(readJson(bytes));
}

function textBody(bytes: Bytes): Body {
  const text = textOfBytes(bytes);
  return bodyOf(jsonIn(text) ?? { value: text });
}

function bodyOf(read: ReadJson): Body {
  if ('value' in read) {
    const { value: data, removed } = stripSensitive(isObject(read.value) ? read.value : { value: read.value });
    return { data, texts: [], removed };
  }
  const { bytes, removed, reason } = read;
  const text = bytes.toString();
  // As for strict JSON: pointers begin at the members of an object, and find anything else in `value`.
  const pointer = /^\ufeff?[\t\n\r ]*\{/.test(text) ? '' : '/value';
  return { data: { value: text }, texts: [{ pointer, bytes, reason }], removed };
}

function textOfBytes(bytes: Bytes): string {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8.');
  return bytes.toString();
}

/**
 * Decodes as `URLSearchParams` does, which would replace bytes that are not UTF-8 by U+FFFD.
 * @throws AppError INVALID_JSON for such bytes.
 */
function formText(encoded: string): string {
  const text = encoded.replaceAll('+', ' ');
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch (error) {
    if (error instanceof URIError) throw invalid('The form is not UTF-8.');
    throw error;
  }
}

/**
 * A body that is a JSON object or array is read as such, since `curl --data` sends JSON under the media type of forms; so
 * is the only name of a form, which is what an HTTP client makes of JSON that it encodes as a form.
 */
function formBody(bytes: Bytes): Body {
  const text = textOfBytes(bytes);
  const json = jsonIn(text) ?? jsonIn(onlyName(text));
  return json === undefined ? membersBody(text) : bodyOf(json);
}

/** The only name of a form without a value; empty where it has several, or a value. */
function onlyName(text: string): string {
  const [, name = ''] = /^&*([^&=]*)=?&*$/.exec(text) ?? [];
  return formText(name);
}

/** A name without the sensitive members of JSON in it, and how many these were. */
function nameOf(name: string): { readonly name: string; readonly removed: number } {
  const json = jsonIn(name);
  if (json === undefined) return { name, removed: 0 };
  if (!('value' in json)) return { name: json.removed === 0 ? name : json.bytes.toString(), removed: json.removed };
  const { value, removed } = stripSensitive({ value: json.value });
  return { name: removed === 0 ? name : canonical(value.value), removed };
}

/**
 * Members by name; a repeated name becomes a list. A member that is a JSON object or array is read as such; a name that
 * is one stays a name.
 */
function membersBody(text: string): Body {
  const members = new Map<string, JsonValue>();
  let count = 0;
  let removedFromTexts = 0;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const { name, removed: ofName } = nameOf(formText(equals < 0 ? pair : pair.slice(0, equals)));
    removedFromTexts += ofName;
    const value = equals < 0 ? '' : formText(pair.slice(equals + 1));
    count += 1;
    if (count > MAX_FORM_MEMBERS) throw invalid(`A form holds at most ${MAX_FORM_MEMBERS} members.`);
    if (name === '__proto__') throw invalid('A member of the form is named __proto__.');
    const before = members.get(name);
    members.set(name, before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]);
  }
  const texts: JsonText[] = [];
  const read = (pointer: string, value: JsonValue): JsonValue => {
    const json = typeof value === 'string' ? jsonIn(value) : undefined;
    if (json === undefined) return value;
    if ('value' in json) return json.value;
    texts.push({ pointer, bytes: json.bytes, reason: json.reason });
    removedFromTexts += json.removed;
    return json.bytes.toString();
  };
  for (const [name, value] of members) {
    const pointer = `/${escapePointer(name)}`;
    const isList = Array.isArray(value);
    members.set(name, isList ? value.map((item, at) => read(`${pointer}/${at}`, item)) : read(pointer, value));
  }
  const { value: data, removed } = stripSensitive(Object.fromEntries(members));
  const kept = texts.filter(({ pointer }) => valueAt(data, pointer) !== undefined);
  return { data, texts: kept, removed: removed + removedFromTexts };
}

interface Wanted {
  readonly what: string;
  readonly maxCodePoints: number;
  readonly faults: Fault[];
}

function textAt(
  body: Body,
  place: NonNullable<TextPlace>,
  { what, maxCodePoints, faults }: Wanted,
): string | undefined {
  const value = 'text' in place ? place.text : textOrValue(body, place.pointer);
  // Senders leave members empty that they have no value for.
  if (value === undefined || value === null || value === '') return undefined;
  // Many senders use numeric ids.
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text === 'string' && isText(text, maxCodePoints)) return text;
  const detail = `${what} is a whole number, or a text of 1 to ${maxCodePoints} characters without control characters.`;
  faults.push(fault(place, detail));
  return undefined;
}

/** The value at a pointer. In JSON that is kept as text: a string, or a whole number as it is written. */
function textOrValue({ data, texts }: Body, pointer: string): JsonValue | undefined {
  const text = texts.find((one) => pointer === one.pointer || pointer.startsWith(`${one.pointer}/`));
  if (text === undefined) return valueAt(data, pointer);
  const scalar = scalarAt(text.bytes, pointer.slice(text.pointer.length));
  return scalar === undefined ? undefined : textOrScalar(scalar);
}

function textOrScalar({ type, text, raw }: TextScalar): JsonValue {
  // Half of a surrogate pair has no UTF-8, so such a text is used as it is written, with its escapes.
  if (type === 'string') return text.isWellFormed() ? text : raw.slice(1, -1);
  if (type === 'number') return /^-?\d+$/.test(text) ? text : Number(text);
  return text === 'null' ? null : text === 'true';
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

function challengeIn(body: Body): string | undefined {
  const challenge = textOrValue(body, '/type') === 'url_verification' ? textOrValue(body, '/challenge') : undefined;
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
