import { AppError } from '@sealgate/errors';
import { canonical, canonicalHash, type JsonValue, parseStrict } from '@sealgate/json';
import type { NewRecord } from './record.ts';
import { invalid } from './refusal.ts';

/** Maximum number of records in a transaction. */
const MAX_RECORDS = 1000;

/** Maximum length of an argument: the default limit of an ordering service for a whole transaction. */
export const MAX_ARGUMENT_BYTES = 10_485_760;

const MEMBERS = ['data', 'extra', 'id', 'owner', 'type'];

/** Reports one fault, with its index. @throws Refusal INVALID_REQUEST */
export function parseRecords(argument: string): NewRecord[] {
  if (Buffer.byteLength(argument) > MAX_ARGUMENT_BYTES) {
    throw invalid(`The argument is longer than ${MAX_ARGUMENT_BYTES} bytes.`);
  }
  const list = parseText(argument, 'the argument');
  if (!Array.isArray(list)) throw invalid('The argument is not an array.');
  if (list.length === 0 || list.length > MAX_RECORDS) {
    throw invalid(`The argument holds ${list.length} records; 1 to ${MAX_RECORDS} are taken.`);
  }
  const records = list.map(parseRecord);
  refuseRepeatedIds(records);
  return records;
}

function parseRecord(value: JsonValue, index: number): NewRecord {
  const where = `records[${index}]`;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw invalid(`${where} is not an object.`);
  const names = Object.keys(value).sort();
  if (names.length !== MEMBERS.length || names.some((name, at) => name !== MEMBERS[at])) {
    throw invalid(`${where} has other members than ${MEMBERS.join(', ')}.`);
  }
  const { id, type, owner, data, extra } = value;
  const checked = {
    id: checkText(id, `${where}.id`, ID_LENGTH),
    type: checkText(type, `${where}.type`, TYPE_LENGTH),
    owner: owner === null ? null : checkText(owner, `${where}.owner`, OWNER_LENGTH),
  };
  const dataValue = parseCanonical(data, `${where}.data`);
  const extraValue = extra === null ? null : parseCanonical(extra, `${where}.extra`);
  return {
    ...checked,
    data: canonical(dataValue),
    // The text `null` and the value null are the same content and are stored alike.
    extra: extraValue === null ? null : canonical(extraValue),
    contentHash: canonicalHash({
      type: checked.type,
      owner: checked.owner,
      data: dataValue,
      extra: extraValue,
    }),
  };
}

/** A transaction does not read its own writes, so a repeated id would be written twice and the first write lost. */
function refuseRepeatedIds(records: readonly NewRecord[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of records.entries()) {
    if (seen.has(id)) throw invalid(`records[${index}].id stands twice in the argument.`);
    seen.add(id);
  }
}

/** Only the canonical text of a value is accepted, so that every reader sees the bytes that were hashed. */
function parseCanonical(text: JsonValue | undefined, where: string): JsonValue {
  if (typeof text !== 'string') throw invalid(`${where} is not a text of JSON.`);
  const value = parseText(text, where);
  if (canonical(value) !== text) throw invalid(`${where} is not in canonical form (RFC 8785).`);
  return value;
}

function parseText(text: string, where: string): JsonValue {
  try {
    return parseStrict(Buffer.from(text));
  } catch (error) {
    if (error instanceof AppError) throw invalid(`${where} is not strict JSON: ${error.code}.`);
    throw error;
  }
}

/**
 * Lengths count code points. Ids and types may be longer than those of surfaces (256 and 128): a driver that maps
 * several channels to one Fabric channel prefixes both with the channel's name.
 */
export const ID_LENGTH = 512;
export const TYPE_LENGTH = 256;
const OWNER_LENGTH = 256;

const DELETE = 0x7f;

/** @throws Refusal INVALID_REQUEST unless it is a text of 1 to `most` code points without U+0000-001F and U+007F. */
export function checkText(value: unknown, where: string, most: number): string {
  if (typeof value !== 'string') throw invalid(`${where} is not a text.`);
  if (!value.isWellFormed()) throw invalid(`${where} holds half of a surrogate pair.`);
  let length = 0;
  for (const character of value) {
    const code = character.codePointAt(0)!;
    if (code < 0x20 || code === DELETE) throw invalid(`${where} holds a control character.`);
    length += 1;
    if (length > most) break;
  }
  if (length === 0 || length > most) throw invalid(`${where} is not 1 to ${most} code points long.`);
  return value;
}
