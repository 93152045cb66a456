import { Bytes, isUtf8 } from '#platform';
import { refusal, syntaxError } from './parse-strict.ts';

/** A JSON text without some of its members. */
interface CutText {
  readonly bytes: Bytes;
  /** Number of members that were cut, not counting those inside them. */
  readonly removed: number;
}

/** The longest escape of an ASCII character is `\u0041`. */
const LONGEST_ESCAPE = 6;
const FIRST_LEVELS = 64;
const IN_ARRAY = 0;
const IN_OBJECT = 1;
/** An object in which an earlier member is kept. */
const KEEPS_BEFORE = 2;

/**
 * Cuts members out of a JSON text, at any depth, and leaves all other bytes as they are. For texts that are JSON but
 * not strict: unsafe numbers, lone surrogates, duplicate members, `__proto__`, any depth, and a byte order mark before
 * them. `names` are in lower-case ASCII; a member is cut if its unescaped name is one of them in any ASCII case. With a
 * member its comma goes: the one before it, or the one after it if no member before it is kept.
 *
 * Checks the whole text against the grammar of RFC 8259. Linear in time and memory; no recursion.
 * @throws AppError INVALID_JSON, with an empty pointer.
 */
export function cutMembers(bytes: Bytes, names: ReadonlySet<string>): CutText {
  if (!isUtf8(bytes)) throw refusal('INVALID_JSON', '', 'The body is not UTF-8.');
  return new Cutter(bytes, names).run();
}

class Cutter {
  readonly #bytes: Bytes;
  readonly #names: ReadonlySet<string>;
  readonly #lengths: ReadonlySet<number>;
  readonly #longestEscaped: number;
  /** One entry for each open array or object, the innermost at `#depth - 1`. */
  #levels = new Uint8Array(FIRST_LEVELS);
  #depth = 0;
  #at = 0;
  /** Offset of the last comma. */
  #comma = 0;
  #out: Bytes | undefined;
  #written = 0;
  /** Everything before this offset was copied or cut. */
  #done = 0;
  #removed = 0;
  /** The member that is being cut: where the cut begins, and the depth of its object. */
  #cutFrom = 0;
  #cutDepth = 0;

  constructor(bytes: Bytes, names: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#names = names;
    this.#lengths = new Set([...names].map(({ length }) => length));
    this.#longestEscaped = Math.max(0, ...this.#lengths) * LONGEST_ESCAPE;
  }

  run(): CutText {
    if (hasByteOrderMark(this.#bytes)) this.#at = BYTE_ORDER_MARK_BYTES;
    this.#blanks();
    do this.#value();
    while (this.#afterValue());
    if (this.#at < this.#bytes.length) this.#broken();
    if (this.#out === undefined) return { bytes: this.#bytes, removed: 0 };
    this.#copyUpTo(this.#bytes.length);
    return { bytes: this.#out.subarray(0, this.#written), removed: this.#removed };
  }

  /** Reads a scalar or an empty container, or opens containers up to the first scalar in them. */
  #value(): void {
    for (;;) {
      const byte = this.#byte();
      if (byte !== 0x7b /* { */ && byte !== 0x5b /* [ */) return this.#scalar(byte);
      const isObject = byte === 0x7b;
      this.#open(isObject ? IN_OBJECT : IN_ARRAY);
      this.#at++;
      this.#blanks();
      if (this.#byte() === (isObject ? 0x7d /* } */ : 0x5d) /* ] */) {
        this.#at++;
        this.#depth--;
        return;
      }
      if (isObject) this.#name();
    }
  }

  /** Moves on to the next value. Closes the containers that end here. False at the end of the outermost value. */
  #afterValue(): boolean {
    for (;;) {
      if (this.#cutDepth > 0 && this.#cutDepth === this.#depth) this.#endCut();
      this.#blanks();
      if (this.#depth === 0) return false;
      const isArray = this.#levels[this.#depth - 1] === IN_ARRAY;
      const byte = this.#byte();
      if (byte === 0x2c /* , */) {
        this.#comma = this.#at++;
        this.#blanks();
        if (!isArray) this.#name();
        return true;
      }
      if (byte !== (isArray ? 0x5d /* ] */ : 0x7d) /* } */) this.#broken();
      this.#at++;
      this.#depth--;
    }
  }

  #open(kind: number): void {
    if (this.#depth === this.#levels.length) {
      const larger = new Uint8Array(this.#depth * 2);
      larger.set(this.#levels);
      this.#levels = larger;
    }
    this.#levels[this.#depth++] = kind;
  }

  /** Reads the name of a member and its colon. */
  #name(): void {
    const open = this.#at;
    if (this.#byte() !== 0x22 /* " */) this.#broken();
    const hasEscape = this.#string();
    const end = this.#at;
    this.#blanks();
    if (this.#byte() !== 0x3a /* : */) this.#broken();
    this.#at++;
    this.#blanks();
    if (this.#cutDepth > 0) return;
    const level = this.#depth - 1;
    const keepsBefore = this.#levels[level] === KEEPS_BEFORE;
    if (this.#isCut(open, end, hasEscape)) {
      this.#cutFrom = keepsBefore ? this.#comma : open;
      this.#cutDepth = this.#depth;
    } else if (!keepsBefore) this.#levels[level] = KEEPS_BEFORE;
  }

  #isCut(open: number, end: number, hasEscape: boolean): boolean {
    const length = end - open - 2;
    if (hasEscape ? length > this.#longestEscaped : !this.#lengths.has(length)) return false;
    // Names to cut are ASCII, so a character of several bytes cannot be a part of one.
    const raw = this.#bytes.toString('latin1', open, end);
    const name = hasEscape ? String(JSON.parse(raw)) : raw.slice(1, -1);
    return this.#names.has(name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  }

  /** The value of the member has ended at this offset. */
  #endCut(): void {
    let end = this.#at;
    if (this.#levels[this.#cutDepth - 1] !== KEEPS_BEFORE) {
      this.#blanks();
      if (this.#byte() === 0x2c /* , */) end = this.#at + 1;
    }
    this.#copyUpTo(this.#cutFrom);
    this.#done = end;
    this.#removed++;
    this.#cutDepth = 0;
  }

  #copyUpTo(end: number): void {
    this.#out ??= Bytes.allocUnsafe(this.#bytes.length);
    this.#written += this.#bytes.copy(this.#out, this.#written, this.#done, end);
  }

  #scalar(byte: number): void {
    if (byte === 0x22 /* " */) this.#string();
    else if (byte === 0x74 /* t */) this.#literal('true');
    else if (byte === 0x66 /* f */) this.#literal('false');
    else if (byte === 0x6e /* n */) this.#literal('null');
    else this.#number();
  }

  #literal(word: string): void {
    for (let index = 0; index < word.length; index++, this.#at++) {
      if (this.#byte() !== word.charCodeAt(index)) this.#broken();
    }
  }

  #number(): void {
    if (this.#byte() === 0x2d /* - */) this.#at++;
    if (this.#byte() === 0x30 /* 0 */) this.#at++;
    else this.#digits();
    if (this.#byte() === 0x2e /* . */) {
      this.#at++;
      this.#digits();
    }
    if ((this.#byte() | 0x20) !== 0x65 /* e */) return;
    this.#at++;
    const sign = this.#byte();
    if (sign === 0x2b /* + */ || sign === 0x2d /* - */) this.#at++;
    this.#digits();
  }

  /** One or more digits. */
  #digits(): void {
    const start = this.#at;
    while (isDigit(this.#byte())) this.#at++;
    if (this.#at === start) this.#broken();
  }

  /** @returns whether the string has an escape. */
  #string(): boolean {
    let hasEscape = false;
    for (this.#at++; ; this.#at++) {
      const byte = this.#byte();
      if (byte === 0x22 /* " */) break;
      if (byte < 0x20) this.#broken();
      if (byte !== 0x5c /* \ */) continue;
      hasEscape = true;
      this.#at++;
      this.#escape();
    }
    this.#at++;
    return hasEscape;
  }

  #escape(): void {
    const byte = this.#byte();
    if (byte !== 0x75 /* u */) {
      if (byte === 0 || !SIMPLE_ESCAPES.includes(String.fromCharCode(byte))) this.#broken();
      return;
    }
    for (let digit = 0; digit < 4; digit++) {
      this.#at++;
      const hex = this.#byte();
      const letter = hex | 0x20;
      if (!isDigit(hex) && !(letter >= 0x61 /* a */ && letter <= 0x66) /* f */) this.#broken();
    }
  }

  #blanks(): void {
    for (;;) {
      const byte = this.#byte();
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#at++;
    }
  }

  /** The byte at this offset; 0, which is no character of JSON, after the end. */
  #byte(): number {
    return this.#at < this.#bytes.length ? (this.#bytes[this.#at] as number) : 0;
  }

  #broken(): never {
    throw syntaxError(this.#bytes, this.#at);
  }
}

const SIMPLE_ESCAPES = '"\\/bfnrt';
const BYTE_ORDER_MARK_BYTES = 3;

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

const isDigit = (byte: number): boolean => byte >= 0x30 /* 0 */ && byte <= 0x39; /* 9 */

/** A scalar in a JSON text. */
export interface TextScalar {
  readonly type: 'string' | 'number' | 'other';
  /** As it is written. */
  readonly raw: string;
  /** A string unescaped; anything else as it is written. */
  readonly text: string;
}

/**
 * The scalar that a JSON pointer (RFC 6901) names in a JSON text; of duplicate members the last one counts. Undefined
 * where there is none, or an array or object. The text must be one that `cutMembers` accepts. No recursion; reads each
 * array and object on the way once.
 */
export function scalarAt(bytes: Bytes, pointer: string): TextScalar | undefined {
  let at: number | undefined = skipBlanks(bytes, hasByteOrderMark(bytes) ? BYTE_ORDER_MARK_BYTES : 0);
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (bytes[at] === 0x7b /* { */) at = lastMember(bytes, at, name);
    else at = bytes[at] === 0x5b /* [ */ ? itemAt(bytes, at, name) : undefined;
    if (at === undefined) return undefined;
  }
  const first = bytes[at] ?? 0;
  if (first === 0x7b /* { */ || first === 0x5b /* [ */) return undefined;
  const raw = bytes.toString('utf8', at, endOfValue(bytes, at));
  if (first === 0x22 /* " */) return { type: 'string', raw, text: String(JSON.parse(raw)) };
  return { type: isDigit(first) || first === 0x2d /* - */ ? 'number' : 'other', raw, text: raw };
}

/** The offset of the value of the last member of this name. */
function lastMember(bytes: Bytes, open: number, name: string): number | undefined {
  let found: number | undefined;
  let at = skipBlanks(bytes, open + 1);
  while (bytes[at] === 0x22 /* " */) {
    const end = endOfString(bytes, at);
    const isNamed = isName(bytes, { open: at, end }, name);
    at = skipBlanks(bytes, skipBlanks(bytes, end) + 1);
    if (isNamed) found = at;
    at = skipBlanks(bytes, endOfValue(bytes, at));
    if (bytes[at] === 0x2c /* , */) at = skipBlanks(bytes, at + 1);
  }
  return found;
}

function isName(bytes: Bytes, { open, end }: { readonly open: number; readonly end: number }, name: string): boolean {
  // A character takes between one byte and an escape for each of its UTF-16 code units.
  const length = end - open - 2;
  if (length < name.length || length > name.length * LONGEST_ESCAPE) return false;
  return JSON.parse(bytes.toString('utf8', open, end)) === name;
}

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

function itemAt(bytes: Bytes, open: number, token: string): number | undefined {
  if (!INDEX.test(token)) return undefined;
  let at = skipBlanks(bytes, open + 1);
  for (let left = Number(token); bytes[at] !== 0x5d /* ] */; left--) {
    if (left === 0) return at;
    at = skipBlanks(bytes, endOfValue(bytes, at));
    if (bytes[at] === 0x2c /* , */) at = skipBlanks(bytes, at + 1);
  }
  return undefined;
}

function skipBlanks(bytes: Bytes, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

function endOfString(bytes: Bytes, open: number): number {
  let at = open + 1;
  while (at < bytes.length && bytes[at] !== 0x22 /* " */) at += bytes[at] === 0x5c /* \ */ ? 2 : 1;
  return at + 1;
}

function endOfValue(bytes: Bytes, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] as number; // `at` is below the length.
    if (byte === 0x22 /* " */) {
      at = endOfString(bytes, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) depth++;
    else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (byte === 0x2c /* , */ || byte <= 0x20)) return at;
    at++;
  }
  return at;
}
