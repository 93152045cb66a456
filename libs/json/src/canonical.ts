import { Bytes, hash } from '#platform';

const INITIAL_BYTES = 64 * 1024;
/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [member: string]: JsonValue };

/** A buffer that grew beyond this size is released after the value is written. */
const MOST_KEPT_BYTES = 1024 * 1024;
/** Strings up to this length are copied by a loop; JSON.stringify is faster for longer ones. */
const LONGEST_COPIED = 64;
/** Up to this many members are sorted by insertion: no allocation, and one pass when they are already sorted. */
const MOST_INSERTED = 16;
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const BYTES_PER_UNIT = 3;

/**
 * Writes values in RFC 8785 form as UTF-8 bytes. About as fast as JSON.stringify, sorted or not; joining strings takes
 * twice as long and needs flattening afterwards.
 */
class CanonicalWriter {
  #bytes: Bytes = Bytes.allocUnsafe(INITIAL_BYTES);
  #length = 0;

  /**
   * Writes a value and returns the result of `read` on its bytes. The next call overwrites the bytes.
   * @throws TypeError for values that JSON cannot represent: non-finite numbers, lone surrogates, undefined, anything
   * but arrays and plain objects.
   */
  write<T>(value: JsonValue, read: (bytes: Bytes) => T): T {
    this.#length = 0;
    this.#value(value);
    const result = read(this.#bytes.subarray(0, this.#length));
    if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = Bytes.allocUnsafe(INITIAL_BYTES);
    return result;
  }

  #value(value: JsonValue): void {
    if (typeof value === 'string') this.#string(value);
    else if (typeof value === 'number') this.#number(value);
    else if (value === true) this.#ascii('true');
    else if (value === false) this.#ascii('false');
    else if (value === null) this.#ascii('null');
    else if (Array.isArray(value)) this.#array(value);
    else this.#object(value);
  }

  #array(items: readonly JsonValue[]): void {
    this.#byte(0x5b /* [ */);
    for (let index = 0; index < items.length; index++) {
      if (index > 0) this.#byte(0x2c /* , */);
      this.#value(items[index] as JsonValue); // A hole is undefined, which #object refuses.
    }
    this.#byte(0x5d /* ] */);
  }

  #object(object: { readonly [member: string]: JsonValue }): void {
    assertPlain(object);
    const names = sorted(Object.keys(object));
    this.#byte(0x7b /* { */);
    for (let index = 0; index < names.length; index++) {
      if (index > 0) this.#byte(0x2c /* , */);
      const name = names[index] as string; // `index` is below the length.
      this.#string(name);
      this.#byte(0x3a /* : */);
      this.#value(object[name] as JsonValue); // An own member; undefined is refused by #object.
    }
    this.#byte(0x7d /* } */);
  }

  #number(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError('JSON has no form for a number that is not finite.');
    // RFC 8785 uses ECMAScript's number format, in which -0 is 0.
    this.#ascii(String(value));
  }

  #string(text: string): void {
    const { length } = text;
    if (length > LONGEST_COPIED) return this.#anyString(text);
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = 0x22; /* " */
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit < 0x20 || unit > 0x7e || unit === 0x22 /* " */ || unit === 0x5c /* \ */) return this.#anyString(text);
      bytes[at++] = unit;
    }
    bytes[at++] = 0x22; /* " */
    this.#length = at;
  }

  /** RFC 8785 escapes as ECMAScript does, but rejects lone surrogates. */
  #anyString(text: string): void {
    if (!text.isWellFormed()) throw new TypeError('JSON has no form for half of a surrogate pair.');
    const quoted = JSON.stringify(text);
    this.#reserve(quoted.length * BYTES_PER_UNIT);
    this.#length += this.#bytes.write(quoted, this.#length, 'utf8');
  }

  #ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let index = 0; index < text.length; index++) bytes[at++] = text.charCodeAt(index);
    this.#length = at;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const larger = Bytes.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Sorts by UTF-16 code units: ECMAScript's string order, required by RFC 8785. */
function sorted(names: string[]): string[] {
  if (names.length > MOST_INSERTED) return names.sort();
  for (let next = 1; next < names.length; next++) {
    const name = names[next] as string; // `next` is below the length.
    let at = next;
    for (; at > 0 && (names[at - 1] as string) > name; at--) names[at] = names[at - 1] as string;
    names[at] = name;
  }
  return names;
}

/** Rejects a Date, Map or Buffer: its enumerable members are not its content. */
function assertPlain(value: object): void {
  if (typeof value !== 'object') throw new TypeError(`JSON has no form for ${typeof value}.`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return;
  // A plain object of another realm has that realm's Object.prototype, whose prototype is null.
  if (Object.getPrototypeOf(prototype) !== null) throw new TypeError('Only arrays and plain objects are JSON.');
}

/** One buffer for all calls: they are synchronous, and none keeps the buffer. */
const writer = new CanonicalWriter();

/**
 * The RFC 8785 (JCS) form of a value: members sorted by UTF-16 code units, numbers and strings as ECMAScript prints
 * them, no whitespace.
 * @throws TypeError for values that JSON cannot represent: non-finite numbers, lone surrogates, undefined, objects that
 * are not plain.
 */
export function canonical(value: JsonValue): string {
  return writer.write(value, textOf);
}

/** SHA-256 over the UTF-8 bytes of the canonical form, 64 lower hex digits. @throws TypeError as `canonical` does. */
export function canonicalHash(value: JsonValue): string {
  return writer.write(value, hashOf);
}

function textOf(bytes: Bytes): string {
  return bytes.toString('utf8');
}

function hashOf(bytes: Bytes): string {
  return sha256Text(bytes, 'hex');
}

/** SHA-256 of bytes, or of the UTF-8 of a text, as a string. `binary`: one character per byte. */
export function sha256Text(data: string | Uint8Array, encoding: 'hex' | 'base64url' | 'binary'): string {
  return hash('sha256', data, encoding);
}

/** SHA-256 of bytes, or of the UTF-8 of a text: 32 bytes. */
export function sha256(data: string | Uint8Array): Bytes {
  // Through a string: Node creates a small Buffer from a string several times faster than the hash returns one.
  return Bytes.from(sha256Text(data, 'binary'), 'latin1');
}
