/**
 * One-dimensional arrays in PostgreSQL's binary parameter format (array_send): dimensions, null flag, element type,
 * size, lower bound, then length and bytes of each element. A batch of ten thousand records is sent as a few buffers;
 * the array literals of node-postgres would escape every character of every element.
 */
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;
const LENGTH_BYTES = 4;
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const BYTES_PER_UNIT = 3;
/** A buffer that grew beyond this for one large value is replaced by a small one afterwards. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** The null flag of an array; the server reads it but checks the elements itself. */
const NO_NULL = 0;
const MAY_HOLD_NULL = 1;
const OID = { bytea: 17, int8: 20, int4: 23, text: 25 } as const;

function header(buffer: Buffer, oid: number, count: number, nulls: number): void {
  buffer.writeInt32BE(count === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(nulls, 4);
  buffer.writeInt32BE(oid, 8);
  if (count > 0) {
    buffer.writeInt32BE(count, 12);
    buffer.writeInt32BE(1, 16);
  }
}

const headerBytes = (count: number): number => (count === 0 ? 12 : HEADER_BYTES);

/** A `text[]` parameter; null is SQL NULL. */
export function textArray(values: readonly (string | null)[]): Buffer {
  elements.begin();
  for (const value of values) elements.text(value);
  return elements.takeArray('text', values.length);
}

/** A `bytea[]` parameter; null is SQL NULL. */
export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  elements.begin();
  for (const value of values) elements.bytes(value);
  return elements.takeArray('bytea', values.length);
}

/** An array of elements written before in several chunks; `count` is their total number. */
export function joinedArray(type: 'bytea' | 'text', count: number, chunks: readonly Uint8Array[]): Buffer {
  const start = headerBytes(count);
  const bytes = chunks.reduce((sum, { length }) => sum + length, start);
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, OID[type], count, MAY_HOLD_NULL);
  let at = start;
  for (const chunk of chunks) {
    buffer.set(chunk, at);
    at += chunk.length;
  }
  return buffer;
}

/** Writes length-prefixed array elements into one growing buffer. */
export class ElementWriter {
  readonly #initialBytes: number;
  #buffer: Buffer;
  #at = 0;

  constructor(initialBytes: number) {
    this.#initialBytes = initialBytes;
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#at;
  }

  /** Empties the writer, also of what a throw left half written. */
  begin(): void {
    this.#at = 0;
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafe(this.#initialBytes);
  }

  text(value: string | null): void {
    if (value === null) return this.#length(NULL_LENGTH);
    this.#reserve(LENGTH_BYTES + value.length * BYTES_PER_UNIT);
    const written = this.#buffer.write(value, this.#at + LENGTH_BYTES, 'utf8');
    this.#length(written);
    this.#at += written;
  }

  bytes(value: Uint8Array | null): void {
    if (value === null) return this.#length(NULL_LENGTH);
    this.#reserve(LENGTH_BYTES + value.length);
    this.#length(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** Returns the written elements as an array of `count` and empties the writer. */
  takeArray(type: 'bytea' | 'text', count: number): Buffer {
    const array = joinedArray(type, count, [this.#buffer.subarray(0, this.#at)]);
    this.begin();
    return array;
  }

  /** Returns the written elements, followed by `room` free bytes, and empties the writer. */
  take(room = 0): Buffer {
    const taken = Buffer.allocUnsafe(this.#at + room);
    this.#buffer.copy(taken, 0, 0, this.#at);
    this.begin();
    return taken;
  }

  #length(length: number): void {
    this.#reserve(LENGTH_BYTES);
    this.#buffer.writeInt32BE(length, this.#at);
    this.#at += LENGTH_BYTES;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/** Shared by all parameters: each is built synchronously. */
const elements = new ElementWriter(65_536);

/** An `integer[]` parameter. */
export function int4Array(values: readonly number[]): Buffer {
  const start = headerBytes(values.length);
  const buffer = Buffer.allocUnsafe(start + values.length * 8);
  header(buffer, OID.int4, values.length, NO_NULL);
  values.forEach((value, position) => {
    buffer.writeInt32BE(4, start + position * 8);
    buffer.writeInt32BE(value, start + position * 8 + 4);
  });
  return buffer;
}

/** A `bigint[]` parameter of safe integers; null is SQL NULL. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  const start = headerBytes(values.length);
  const buffer = Buffer.allocUnsafe(start + values.length * 12);
  header(buffer, OID.int8, values.length, MAY_HOLD_NULL);
  let at = start;
  for (const value of values) {
    at = buffer.writeInt32BE(value === null ? NULL_LENGTH : 8, at);
    if (value !== null) at = buffer.writeBigInt64BE(BigInt(value), at);
  }
  return buffer.subarray(0, at);
}
