/**
 * As much of the protocol buffers' wire format (https://protobuf.dev/programming-guides/encoding/) as a transaction takes on
 * its way: fields with a length, and small numbers. Written by hand because the generated classes take every message apart
 * into objects and put it together again, several times for each transaction.
 */

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
/** A length is at most 2^32 here: five bytes. */
const LENGTH_MAX_BYTES = 5;
/** A field's number is below 16 in every message that is written or read here, so its tag is one byte. */
const tagOf = (field: number, wireType: number): number => (field << 3) | wireType;

/** What a field costs at most beside its content. */
export const FIELD_OVERHEAD = 1 + LENGTH_MAX_BYTES;

/** Not a message. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}

/**
 * Writes messages from their last byte to their first: so a message's length is known when it is to be written, whatever
 * is nested in it, and every byte is written once. The order of fields in a message means nothing.
 */
export class BackwardWriter {
  readonly #buffer: Buffer;
  #at: number;

  /** `maxBytes`: what is certainly enough; an upper bound costs nothing but address space for a moment. */
  constructor(maxBytes: number) {
    this.#buffer = Buffer.allocUnsafe(maxBytes);
    this.#at = maxBytes;
  }

  /** Where a message that is written from here on will end; for `close`. */
  get end(): number {
    return this.#at;
  }

  /** Makes all that was written since `end` the content of a field. */
  close(field: number, end: number): void {
    this.#varint(end - this.#at);
    this.#buffer[(this.#at -= 1)] = tagOf(field, LENGTH);
  }

  bytes(field: number, content: Uint8Array): void {
    const end = this.#at;
    this.#at -= content.length;
    this.#buffer.set(content, this.#at);
    this.close(field, end);
  }

  text(field: number, content: string, byteLength = Buffer.byteLength(content)): void {
    const end = this.#at;
    this.#at -= byteLength;
    this.#buffer.write(content, this.#at, byteLength, 'utf8');
    this.close(field, end);
  }

  /** A whole number from 0 to 2^53 - 1. */
  number(field: number, value: number): void {
    this.#varint(value);
    this.#buffer[(this.#at -= 1)] = tagOf(field, VARINT);
  }

  /** What was written from here to `end`; a view. */
  since(end: number): Buffer {
    return this.#buffer.subarray(this.#at, end);
  }

  #varint(value: number): void {
    let bytes = 1;
    for (let left = value; left > 0x7f; left = Math.floor(left / 128)) bytes += 1;
    let at = (this.#at -= bytes);
    let left = value;
    for (; left > 0x7f; left = Math.floor(left / 128)) this.#buffer[at++] = (left % 128) | 0x80;
    this.#buffer[at] = left;
  }
}

/**
 * The content of the first field with that number and a length; undefined where there is none.
 *
 * @throws MalformedMessageError.
 */
export function fieldOf(message: Buffer, field: number): Buffer | undefined {
  const wanted = tagOf(field, LENGTH);
  const cursor = { at: 0 };
  while (cursor.at < message.length) {
    const tag = varintAt(message, cursor);
    if (tag % 8 === LENGTH) {
      const length = varintAt(message, cursor);
      const start = cursor.at;
      cursor.at += length;
      if (cursor.at > message.length) throw new MalformedMessageError('A field ends behind its message.');
      if (tag === wanted) return message.subarray(start, cursor.at);
    } else skip(message, cursor, tag % 8);
  }
  return undefined;
}

/** The content that a path of fields leads to. @throws MalformedMessageError, also where one of them is missing. */
export function contentAt(message: Buffer, path: readonly number[]): Buffer {
  let content = message;
  for (const field of path) {
    const next = fieldOf(content, field);
    if (next === undefined) throw new MalformedMessageError(`Field ${field} of ${path.join('.')} is missing.`);
    content = next;
  }
  return content;
}

function skip(message: Buffer, cursor: { at: number }, wireType: number): void {
  if (wireType === VARINT) varintAt(message, cursor);
  else if (wireType === FIXED64) cursor.at += 8;
  else if (wireType === FIXED32) cursor.at += 4;
  else throw new MalformedMessageError(`There is no wire type ${wireType}.`);
  if (cursor.at > message.length) throw new MalformedMessageError('A field ends behind its message.');
}

/** Numbers above 2^53 lose their last digits: such are skipped only. */
function varintAt(message: Buffer, cursor: { at: number }): number {
  let value = 0;
  for (let scale = 1, count = 0; count < 10; scale *= 128, count += 1) {
    const byte = message[cursor.at];
    if (byte === undefined) throw new MalformedMessageError('A number ends behind its message.');
    cursor.at += 1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
  }
  throw new MalformedMessageError('A number has more than ten bytes.');
}
