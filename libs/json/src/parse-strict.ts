import { Bytes, isUtf8 } from '#platform';
import { AppError } from '@sealgate/errors';
import { firstFault, type StrictFault } from './first-fault.ts';
import type { JsonValue } from './json-value.ts';
import { pointerAt } from './pointer-at.ts';

/**
 * Parses a body as strict JSON: UTF-8 without a byte order mark, at most 64 levels, no member twice or named `__proto__`,
 * no half of a surrogate pair, and only numbers that a double keeps (see `isSafeNumber`). Nothing is parsed before one
 * linear walk over the bytes has found it strict.
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER or UNSAFE_NUMBER, with one fault: the encoding first,
 * then whatever is wrong first in the order of the text. Its pointer is empty where the grammar is broken. It never quotes
 * a value.
 */
export function parseStrict(bytes: Uint8Array): JsonValue {
  return parseSound(soundBody(bytes));
}

/**
 * `parseStrict` in two turns of the event loop, for a body so large that walking and parsing it in one would hold up
 * everybody else.
 */
export async function parseStrictInTurns(bytes: Uint8Array, nextTurn: () => Promise<void>): Promise<JsonValue> {
  const body = soundBody(bytes);
  await nextTurn();
  return parseSound(body);
}

/** The body, when nothing is wrong with it. */
function soundBody(bytes: Uint8Array): Bytes {
  const body = Bytes.isBuffer(bytes) ? bytes : Bytes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length === 0) throw refusal('INVALID_JSON', '', 'The body is empty.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw refusal('INVALID_JSON', '', 'The body begins with a byte order mark.');
  }
  if (!isUtf8(body)) throw refusal('INVALID_JSON', '', 'The body is not UTF-8.');
  const fault = firstFault(body);
  if (fault !== undefined) {
    throw refusal(fault.code, fault.grammatical ? pointerAt(body, fault.at) : '', fault.detail);
  }
  return body;
}

function parseSound(body: Bytes): JsonValue {
  // Strict JSON is JSON, and JSON.parse without a reviver returns nothing but JSON values.
  return JSON.parse(body.toString('utf8')) as JsonValue;
}

function refusal(code: StrictFault['code'], pointer: string, detail: string): AppError {
  return new AppError(code, detail, { faults: [{ in: 'body', pointer, detail }] });
}
