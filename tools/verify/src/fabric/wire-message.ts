import { Bytes } from '@sealgate/json';

/** The bytes are not a message of the wanted kind. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}

/** A message of Protocol Buffers (wire format), read by field numbers. Absent fields have their defaults. */
export interface WireMessage {
  /** @throws MalformedMessageError if the field is there twice; so do the next two. */
  bytes(field: number): Bytes;
  text(field: number): string;
  number(field: number): number;
  all(field: number): readonly Bytes[];
}

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;
const MAX_VARINT_BYTES = 10;

type Value = Bytes | number;

/**
 * Reads a message without a schema. Stricter than the format: a field that may be there once must not be there twice,
 * since readers disagree on what that means; so must groups, which Fabric never used. Fields that nobody asks for are
 * ignored.
 *
 * @throws MalformedMessageError
 */
export function readMessage(bytes: Uint8Array, name: string): WireMessage {
  const fields = fieldsOf(bytes, name);
  const one = (field: number): Value | undefined => {
    const [value, ...more] = fields.get(field) ?? [];
    if (more.length > 0) throw new MalformedMessageError(`${name} has its field ${field} twice`);
    return value;
  };
  const delimited = (value: Value | undefined, field: number): Bytes => {
    if (typeof value === 'number') throw new MalformedMessageError(`${name} has no bytes in its field ${field}`);
    return value ?? Bytes.from('', 'latin1');
  };
  return {
    bytes: (field) => delimited(one(field), field),
    text(field) {
      const value = delimited(one(field), field);
      const text = value.toString('utf8');
      if (Bytes.from(text, 'utf8').toString('hex') !== value.toString('hex'))
        throw new MalformedMessageError(`${name} has no text in its field ${field}`);
      return text;
    },
    number(field) {
      const value = one(field) ?? 0;
      if (typeof value !== 'number') throw new MalformedMessageError(`${name} has no number in its field ${field}`);
      return value;
    },
    all: (field) => (fields.get(field) ?? []).map((value) => delimited(value, field)),
  };
}

function fieldsOf(bytes: Uint8Array, name: string): ReadonlyMap<number, Value[]> {
  const fields = new Map<number, Value[]>();
  const reader = new WireReader(bytes, name);
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const field = Math.floor(tag / 8);
    const value = reader.value(tag % 8);
    const before = fields.get(field);
    if (before === undefined) fields.set(field, [value]);
    else before.push(value);
  }
  return fields;
}

class WireReader {
  readonly #bytes: Bytes;
  readonly #name: string;
  #at = 0;

  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = Bytes.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    this.#name = name;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(wireType: number): Value {
    switch (wireType) {
      case VARINT:
        return this.varint();
      case DELIMITED:
        return this.#take(this.varint());
      case FIXED64:
        return this.#take(8);
      case FIXED32:
        return this.#take(4);
      default:
        throw new MalformedMessageError(`${this.#name} has a field of the unknown type ${wireType}`);
    }
  }

  /** Above 2^53 it is not exact; nothing that is compared here is so large. */
  varint(): number {
    let value = 0;
    let factor = 1;
    for (let length = 1; length <= MAX_VARINT_BYTES; length += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw this.#cut();
      this.#at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new MalformedMessageError(`${this.#name} has a number of more than 64 bits`);
  }

  #take(length: number): Bytes {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw this.#cut();
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #cut(): MalformedMessageError {
    return new MalformedMessageError(`${this.#name} is cut off`);
  }
}
