import { Bytes, isUtf8 } from '#platform';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from './canonical.ts';
import { firstFault, type StrictFault } from './first-fault.ts';
import { pointerAt } from './pointer-at.ts';

/**
 * Parses strict JSON: UTF-8 without a byte order mark, at most 64 levels, no duplicate member, no member `__proto__`,
 * no lone surrogate, and only numbers that a double preserves (see `isSafeNumber`). One linear pass validates the bytes
 * before anything is parsed.
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER or UNSAFE_NUMBER with one fault: an encoding error
 * first, then the first fault in text order. The pointer is empty for a syntax error. Values are never quoted.
 */
export function parseStrict(bytes: Uint8Array): JsonValue {
  return parseSound(soundBody(bytes));
}

/** `parseStrict` split over two turns of the event loop, so that a large body does not block other requests as long. */
export async function parseStrictInTurns(bytes: Uint8Array, nextTurn: () => Promise<void>): Promise<JsonValue> {
  const body = soundBody(bytes);
  await nextTurn();
  return parseSound(body);
}

/** Validates the body and returns its bytes. */
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
  // The bytes are valid JSON, and JSON.parse without a reviver returns only JSON values.
  return JSON.parse(body.toString('utf8')) as JsonValue;
}

function refusal(code: StrictFault['code'], pointer: string, detail: string): AppError {
  return new AppError(code, detail, { faults: [{ in: 'body', pointer, detail }] });
}
