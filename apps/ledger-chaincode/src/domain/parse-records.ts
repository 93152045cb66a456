import { AppError } from '@sealgate/errors';
import { canonical, canonicalHash, parseStrict, type JsonValue } from '@sealgate/json';
import { invalid } from './refusal.ts';
import type { NewRecord } from './record.ts';
import { checkText, ID_LENGTH, OWNER_LENGTH, TYPE_LENGTH } from './text-rules.ts';

/** More records in one transaction are refused. */
const MAX_RECORDS = 1000;

/** A longer argument is refused: it is what an ordering service takes of a whole transaction unless told otherwise. */
export const MAX_ARGUMENT_BYTES = 10_485_760;

const MEMBERS = ['data', 'extra', 'id', 'owner', 'type'];

/** @throws Refusal INVALID_REQUEST, naming the place by its index; one fault at a time. */
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
    // The text `null` says what null says, so both are one content and are kept alike.
    extra: extraValue === null ? null : canonical(extraValue),
    contentHash: canonicalHash({
      type: checked.type,
      owner: checked.owner,
      data: dataValue,
      extra: extraValue,
    }),
  };
}

/** Reads of a transaction never see its own writes, so a repeated id would be written twice and the first one lost. */
function refuseRepeatedIds(records: readonly NewRecord[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of records.entries()) {
    if (seen.has(id)) throw invalid(`records[${index}].id stands twice in the argument.`);
    seen.add(id);
  }
}

/** Only one text of a value is taken, so that every reader sees the bytes that were hashed. */
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
