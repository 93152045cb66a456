/**
 * One-dimensional arrays in PostgreSQL's binary parameter format (array_send): dimensions, null flag, element type,
 * size, lower bound, then length and bytes of each element. A batch of ten thousand records is sent as a few buffers;
 * node-postgres' own array literals would escape every character of every element.
 */
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;
const OID = { bytea: 17, int8: 20, int4: 23, text: 25 } as const;

function header(buffer: Buffer, oid: number, count: number, hasNull: boolean): void {
  buffer.writeInt32BE(count === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(hasNull ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  if (count > 0) {
    buffer.writeInt32BE(count, 12);
    buffer.writeInt32BE(1, 16);
  }
}

const headerBytes = (count: number): number => (count === 0 ? 12 : HEADER_BYTES);

/** A `text[]` parameter; null is SQL NULL. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let bytes = headerBytes(values.length);
  let hasNull = false;
  for (const value of values) {
    bytes += 4 + (value === null ? 0 : Buffer.byteLength(value));
    hasNull ||= value === null;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, OID.text, values.length, hasNull);
  let at = headerBytes(values.length);
  for (const value of values) {
    const written = value === null ? NULL_LENGTH : buffer.write(value, at + 4, 'utf8');
    buffer.writeInt32BE(written, at);
    at += 4 + Math.max(written, 0);
  }
  return buffer;
}

/** A `bytea[]` parameter; null is SQL NULL. */
export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  let bytes = headerBytes(values.length);
  let hasNull = false;
  for (const value of values) {
    bytes += 4 + (value?.length ?? 0);
    hasNull ||= value === null;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, OID.bytea, values.length, hasNull);
  let at = headerBytes(values.length);
  for (const value of values) {
    buffer.writeInt32BE(value === null ? NULL_LENGTH : value.length, at);
    at += 4;
    if (value !== null) {
      buffer.set(value, at);
      at += value.length;
    }
  }
  return buffer;
}

/** An `integer[]` parameter. */
export function int4Array(values: readonly number[]): Buffer {
  const start = headerBytes(values.length);
  const buffer = Buffer.allocUnsafe(start + values.length * 8);
  header(buffer, OID.int4, values.length, false);
  values.forEach((value, position) => {
    buffer.writeInt32BE(4, start + position * 8);
    buffer.writeInt32BE(value, start + position * 8 + 4);
  });
  return buffer;
}

/** A `bigint[]` parameter of safe integers. */
export function int8Array(values: readonly number[]): Buffer {
  const start = headerBytes(values.length);
  const buffer = Buffer.allocUnsafe(start + values.length * 12);
  header(buffer, OID.int8, values.length, false);
  values.forEach((value, position) => {
    buffer.writeInt32BE(8, start + position * 12);
    buffer.writeBigInt64BE(BigInt(value), start + position * 12 + 4);
  });
  return buffer;
}
