import { Bytes, sha256Text } from '#platform';
import type { JsonValue } from './json-value.ts';

const INITIAL_BYTES = 64 * 1024;
/** A buffer that grew beyond this for one large value is given back afterwards. */
const MOST_KEPT_BYTES = 1024 * 1024;
/** Up to this length a string is copied by a loop; a longer one is cheaper by way of the platform's own printer. */
const LONGEST_COPIED = 64;
/** Up to so many members are sorted by insertion: it allocates nothing and takes one pass when they are sorted already. */
const MOST_INSERTED = 16;
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const BYTES_PER_UNIT = 3;

/**
 * Writes values in RFC 8785 form as UTF-8 bytes. Writing bytes is about as fast as the platform's JSON.stringify,
 * members sorted or not, where joining strings takes twice as long and has to be flattened afterwards.
 */
export class CanonicalWriter {
  #bytes: Bytes = Bytes.allocUnsafe(INITIAL_BYTES);
  #length = 0;

  /**
   * Writes a value and returns what `read` makes of its bytes, which are overwritten by the next value.
   * @throws TypeError for what JSON cannot say: a number that is not finite, half of a surrogate pair, undefined,
   * anything but arrays and plain objects.
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
    // RFC 8785 takes ECMAScript's form, in which -0 is 0.
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

  /** RFC 8785 escapes exactly what ECMAScript does, but has no form for half of a surrogate pair. */
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

/** In the order of UTF-16 code units, which is how ECMAScript compares strings and what RFC 8785 asks for. */
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

/** A Date, a Map or a Buffer has other members than it seems to; hashing what it happens to list would be a bug. */
function assertPlain(value: object): void {
  if (typeof value !== 'object') throw new TypeError(`JSON has no form for ${typeof value}.`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return;
  // A plain object of another realm has another Object.prototype, which has none itself.
  if (Object.getPrototypeOf(prototype) !== null) throw new TypeError('Only arrays and plain objects are JSON.');
}

/** One buffer for all calls: they are synchronous, and nothing of it leaves before the next call. */
const writer = new CanonicalWriter();

/**
 * The RFC 8785 (JCS) form of a value: members in the order of UTF-16 code units, numbers and strings as ECMAScript prints
 * them, no blanks.
 * @throws TypeError for what JSON cannot say: numbers that are not finite, half of a surrogate pair, undefined, objects
 * that are not plain.
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
