import { Bytes, isUtf8 } from '#platform';
import { AppError, type ErrorCode } from '@sealgate/errors';
import type { JsonValue } from './canonical.ts';
import { FIRST_HASH, hashOfKey, MemberNames, unescapedKey, type NameSource } from './member-names.ts';
import { MAX_DEPTH } from './opens-too-deep.ts';
import { pointerAt } from './pointer-at.ts';
import { isSafeNumber } from './safe-number.ts';

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
export function soundBody(bytes: Uint8Array): Bytes {
  const body = Bytes.isBuffer(bytes) ? bytes : Bytes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length === 0) throw refusal('INVALID_JSON', '', 'The body is empty.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw refusal('INVALID_JSON', '', 'The body begins with a byte order mark.');
  }
  if (!isUtf8(body)) throw refusal('INVALID_JSON', '', 'The body is not UTF-8.');
  const fault = new Walk(body).firstFault();
  if (fault !== undefined) throw fault;
  return body;
}

function parseSound(body: Bytes): JsonValue {
  // The bytes are valid JSON, and JSON.parse without a reviver returns only JSON values.
  return JSON.parse(body.toString('utf8')) as JsonValue;
}

export type StrictCode = Extract<ErrorCode, 'INVALID_JSON' | 'JSON_TOO_DEEP' | 'DUPLICATE_MEMBER' | 'UNSAFE_NUMBER'>;

export function refusal(code: StrictCode, pointer: string, detail: string): AppError {
  return new AppError(code, detail, { faults: [{ in: 'body', pointer, detail }] });
}

/** There is no value to point at. */
export function syntaxError(bytes: Bytes, at: number): AppError {
  const detail = at >= bytes.length ? 'The body ends too early.' : `Unexpected character at ${placeOf(bytes, at)}.`;
  return refusal('INVALID_JSON', '', detail);
}

/** Line and column, counted from 1. */
function placeOf(bytes: Bytes, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (let before = 0; before < at; before++) {
    if (bytes[before] !== 0x0a) continue;
    line++;
    lineStart = before + 1;
  }
  return `line ${line}, column ${bytes.toString('utf8', lineStart, at).length + 1}`;
}

/** A number up to this length without an exponent has too few digits to be unsafe. */
const ALWAYS_SAFE_LENGTH = 15;
/** Returned instead of the end offset after a fault. */
const STOP = -1;
const PROTO_HASH = hashOfKey('__proto__');
const SIMPLE_ESCAPES = '"\\/bfnrt';

/**
 * One pass over UTF-8 bytes, in linear time. Allocates no values and recurses no deeper than MAX_DEPTH. Each read method
 * takes a start offset and returns the end offset. Characters are numeric literals, because an imported constant would
 * be loaded again for every byte.
 */
class Walk implements NameSource {
  readonly #bytes: Bytes;
  readonly #length: number;
  /** The bytes as Latin-1 characters: slicing names and numbers from a string is cheap. */
  readonly #cut: string;
  readonly #names: MemberNames;
  #fault: AppError | undefined;
  #nameHash = 0;
  #unescapedAt = STOP;
  #unescaped = '';

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
    this.#length = bytes.length;
    this.#cut = bytes.toString('latin1');
    this.#names = new MemberNames(this);
  }

  /** The first fault in text order; undefined when the bytes are strict JSON. */
  firstFault(): AppError | undefined {
    const end = this.#value(this.#blanks(0), 1);
    if (end !== STOP && this.#blanks(end) < this.#length) this.#broken(this.#blanks(end));
    return this.#fault;
  }

  #value(at: number, depth: number): number {
    switch (this.#byte(at)) {
      case 0x22 /* " */:
        return this.#string(at);
      case 0x7b /* { */:
        return depth > MAX_DEPTH ? this.#tooDeep(at) : this.#object(at, depth);
      case 0x5b /* [ */:
        return depth > MAX_DEPTH ? this.#tooDeep(at) : this.#array(at, depth);
      case 0x74 /* t */:
        return this.#literal(at, 'true');
      case 0x66 /* f */:
        return this.#literal(at, 'false');
      case 0x6e /* n */:
        return this.#literal(at, 'null');
      default:
        return this.#number(at);
    }
  }

  #object(open: number, depth: number): number {
    let at = this.#blanks(open + 1);
    if (this.#byte(at) === 0x7d /* } */) return at + 1;
    const object = this.#names.open();
    for (;;) {
      at = this.#memberName(at, object);
      if (at === STOP) return STOP;
      at = this.#blanks(at);
      if (this.#byte(at) !== 0x3a /* : */) return this.#broken(at);
      at = this.#value(this.#blanks(at + 1), depth + 1);
      if (at === STOP) return STOP;
      at = this.#blanks(at);
      if (this.#byte(at) !== 0x2c /* , */) break;
      at = this.#blanks(at + 1);
    }
    this.#names.close(object);
    return this.#byte(at) === 0x7d /* } */ ? at + 1 : this.#broken(at);
  }

  #array(open: number, depth: number): number {
    let at = this.#blanks(open + 1);
    if (this.#byte(at) === 0x5d /* ] */) return at + 1;
    for (;;) {
      at = this.#value(at, depth + 1);
      if (at === STOP) return STOP;
      at = this.#blanks(at);
      if (this.#byte(at) !== 0x2c /* , */) break;
      at = this.#blanks(at + 1);
    }
    return this.#byte(at) === 0x5d /* ] */ ? at + 1 : this.#broken(at);
  }

  #memberName(open: number, object: number): number {
    if (this.#byte(open) !== 0x22 /* " */) return this.#broken(open);
    const end = this.#name(open);
    if (end === STOP) return STOP;
    const hash = this.#nameHash;
    if (hash === PROTO_HASH && this.keyAt(open) === '__proto__') {
      return this.#refuse('INVALID_JSON', open, 'A member may not have the name __proto__.');
    }
    if (this.#names.add(object, open, hash)) return end;
    return this.#refuse('DUPLICATE_MEMBER', open, 'The object has an earlier member of this name.');
  }

  /** Reads a string and stores its hash in `#nameHash`. */
  #name(open: number): number {
    const bytes = this.#bytes;
    const length = this.#length;
    let hash = FIRST_HASH;
    for (let at = open + 1; at < length; at++) {
      const byte = bytes[at] as number; // `at` is below the length.
      if (byte === 0x22 /* " */) {
        this.#nameHash = hash;
        return at + 1;
      }
      if (byte === 0x5c /* \ */ || byte < 0x20) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    // Escapes make equal names differ in bytes, so an escaped name is hashed unescaped.
    const end = this.#string(open);
    if (end !== STOP) this.#nameHash = hashOfKey(this.#unescape(open, end));
    return end;
  }

  /** The key of the name at this offset: its unescaped UTF-8, one character per byte. */
  keyAt(open: number): string {
    let at = open + 1;
    for (; this.#bytes[at] !== 0x22 /* " */; at++) {
      if (this.#bytes[at] === 0x5c /* \ */) {
        return open === this.#unescapedAt ? this.#unescaped : this.#unescape(open, this.#string(open));
      }
    }
    return this.#cut.slice(open + 1, at);
  }

  /** Caches the last result: the same name is often requested twice, and unescaping is the most expensive step. */
  #unescape(open: number, end: number): string {
    this.#unescaped = unescapedKey(this.#cut.slice(open, end));
    this.#unescapedAt = open;
    return this.#unescaped;
  }

  #string(open: number): number {
    const bytes = this.#bytes;
    const length = this.#length;
    for (let at = open + 1; at < length; at++) {
      const byte = bytes[at] as number; // `at` is below the length.
      if (byte === 0x22 /* " */) return at + 1;
      if (byte < 0x20) return this.#broken(at);
      if (byte === 0x5c /* \ */) {
        at = this.#escape(at, open);
        if (at === STOP) return STOP;
      }
    }
    return this.#broken(length);
  }

  /** Returns the offset of the last character of the escape; a surrogate pair is one escape. */
  #escape(at: number, open: number): number {
    if (this.#byte(at + 1) !== 0x75 /* u */) {
      return at + 1 < this.#length && SIMPLE_ESCAPES.includes(this.#cut.charAt(at + 1)) ? at + 1 : this.#broken(at + 1);
    }
    const unit = this.#hexEscape(at);
    if (unit === STOP) return this.#broken(at + 2);
    if (unit < 0xd800 || unit > 0xdfff) return at + 5;
    const next = unit < 0xdc00 ? this.#hexEscape(at + 6) : STOP;
    if (next >= 0xdc00 && next <= 0xdfff) return at + 11;
    return this.#refuse('INVALID_JSON', open, 'The text holds half of a surrogate pair.');
  }

  /** The code unit of a `\uXXXX` escape; STOP when there is none at this offset. */
  #hexEscape(at: number): number {
    if (this.#byte(at) !== 0x5c /* \ */ || this.#byte(at + 1) !== 0x75 /* u */) return STOP;
    let unit = 0;
    for (let index = at + 2; index < at + 6; index++) {
      const digit = hexDigitOf(this.#byte(index));
      if (digit < 0) return STOP;
      unit = unit * 16 + digit;
    }
    return unit;
  }

  #number(start: number): number {
    const mantissaEnd = this.#mantissa(start);
    if (mantissaEnd === STOP) return STOP;
    const hasExponent = (this.#byte(mantissaEnd) | 0x20) === 0x65; /* e or E */
    const end = hasExponent ? this.#exponent(mantissaEnd + 1) : mantissaEnd;
    if (end === STOP) return STOP;
    if (!hasExponent && end - start <= ALWAYS_SAFE_LENGTH) return end;
    if (isSafeNumber(this.#cut.slice(start, end))) return end;
    return this.#refuse(
      'UNSAFE_NUMBER',
      start,
      'The number has more digits than a double keeps, or is too large or too small for one.',
    );
  }

  #mantissa(start: number): number {
    const from = this.#byte(start) === 0x2d /* - */ ? start + 1 : start;
    const end = this.#byte(from) === 0x30 /* 0 */ ? from + 1 : this.#digits(from);
    return end !== STOP && this.#byte(end) === 0x2e /* . */ ? this.#digits(end + 1) : end;
  }

  #exponent(start: number): number {
    const sign = this.#byte(start);
    return this.#digits(sign === 0x2b /* + */ || sign === 0x2d /* - */ ? start + 1 : start);
  }

  /** Reads one or more digits. */
  #digits(start: number): number {
    let at = start;
    while (this.#byte(at) >= 0x30 /* 0 */ && this.#byte(at) <= 0x39 /* 9 */) at++;
    return at === start ? this.#broken(at) : at;
  }

  #literal(at: number, word: string): number {
    return this.#cut.startsWith(word, at) ? at + word.length : this.#broken(at);
  }

  #blanks(start: number): number {
    let at = start;
    for (;;) {
      const byte = this.#byte(at);
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
      at++;
    }
  }

  /** Returns 0, which is not a JSON character, after the end. */
  #byte(at: number): number {
    return at < this.#length ? (this.#bytes[at] as number) : 0;
  }

  #broken(at: number): number {
    this.#fault = syntaxError(this.#bytes, at);
    return STOP;
  }

  #tooDeep(at: number): number {
    return this.#refuse('JSON_TOO_DEEP', at, `Values may be nested ${MAX_DEPTH} levels deep.`);
  }

  #refuse(code: StrictCode, at: number, detail: string): number {
    this.#fault = refusal(code, pointerAt(this.#bytes, at), detail);
    return STOP;
  }
}

/** Negative for a byte that is not a hexadecimal digit. */
function hexDigitOf(byte: number): number {
  if (byte <= 0x39 /* 9 */) return byte - 0x30;
  const digit = (byte | 0x20) - 0x57; // A small a, 0x61, is ten.
  return digit >= 10 && digit <= 15 ? digit : -1;
}
