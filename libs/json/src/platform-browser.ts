import { sha256 } from '@noble/hashes/sha2.js';

// Same exports as platform-node.ts, which documents them.

type Encoding = 'utf8' | 'hex' | 'base64' | 'base64url' | 'latin1' | 'binary';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** Maximum number of arguments passed to one call. */
const CHARACTERS_AT_ONCE = 8_192;

/** Bytes with the methods of Node's Buffer that these libraries use, with the same behaviour. */
export interface Bytes extends Uint8Array<ArrayBuffer> {
  toString(encoding?: Encoding, start?: number, end?: number): string;
  equals(other: Uint8Array): boolean;
  /** Copies a part of these bytes into `target` and returns the number of bytes copied. */
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  /** Writes a text at an offset, truncated to the space available, and returns the number of bytes written. */
  write(text: string, offset?: number, encoding?: Encoding): number;
  subarray(start?: number, end?: number): Bytes;
}

/** The Uint8Array constructor with all its overloads, over ArrayBuffer. */
const PlainBytes = Uint8Array as unknown as {
  new (source: number | ArrayLike<number> | ArrayBuffer, byteOffset?: number, length?: number): Uint8Array<ArrayBuffer>;
};

class BrowserBytes extends PlainBytes implements Bytes {
  override toString(encoding: Encoding = 'utf8', start = 0, end: number = this.length): string {
    return decode(this.subarray(start, end), encoding);
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, index) => byte === other[index]);
  }

  copy(target: Uint8Array, targetStart = 0, start = 0, end: number = this.length): number {
    const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(part, targetStart);
    return part.length;
  }

  write(text: string, offset = 0, encoding: Encoding = 'utf8'): number {
    if (encoding === 'utf8') return encoder.encodeInto(text, this.subarray(offset)).written;
    const bytes = encode(text, encoding).subarray(0, this.length - offset);
    this.set(bytes, offset);
    return bytes.length;
  }

  declare subarray: (start?: number, end?: number) => BrowserBytes;
}

function decode(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === 'utf8') return decoder.decode(bytes);
  if (encoding === 'hex') return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const characters = latin1(bytes);
  if (encoding === 'latin1' || encoding === 'binary') return characters;
  const base64 = btoa(characters);
  if (encoding === 'base64') return base64;
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function latin1(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += CHARACTERS_AT_ONCE) {
    parts.push(String.fromCharCode(...bytes.subarray(start, start + CHARACTERS_AT_ONCE)));
  }
  return parts.join('');
}

function encode(text: string, encoding: Encoding): BrowserBytes {
  if (encoding === 'utf8') return viewOf(encoder.encode(text));
  if (encoding === 'hex') {
    return new BrowserBytes((text.match(/[0-9a-f]{2}/gi) ?? []).map((pair) => parseInt(pair, 16)));
  }
  const characters = encoding === 'latin1' || encoding === 'binary' ? text : fromBase64(text);
  const bytes = new BrowserBytes(characters.length);
  for (let index = 0; index < characters.length; index++) bytes[index] = characters.charCodeAt(index);
  return bytes;
}

/** Returns no bytes for invalid base64. Callers compare the result with its canonical encoding. */
function fromBase64(text: string): string {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return '';
  }
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): BrowserBytes =>
  new BrowserBytes(buffer as ArrayBuffer, byteOffset, length);

type Source = string | ArrayBufferLike | ArrayLike<number>;

export const Bytes = {
  /** Encodes a text, copies bytes, or creates a view of a part of a buffer. */
  from(source: Source, encodingOrOffset?: Encoding | number, length?: number): Bytes {
    if (typeof source === 'string') return encode(source, (encodingOrOffset as Encoding | undefined) ?? 'utf8');
    if (source instanceof ArrayBuffer) return new BrowserBytes(source, Number(encodingOrOffset ?? 0), length);
    return new BrowserBytes(source as ArrayLike<number>);
  },
  alloc(length: number, fill: string | number = 0): Bytes {
    const bytes = new BrowserBytes(length);
    if (fill !== 0) bytes.fill(typeof fill === 'number' ? fill : fill.charCodeAt(0));
    return bytes;
  },
  allocUnsafe: (length: number): Bytes => new BrowserBytes(length),
  of: (...bytes: number[]): Bytes => new BrowserBytes(bytes),
  concat(parts: readonly Uint8Array[]): Bytes {
    const all = new BrowserBytes(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  },
  isBuffer: (value: unknown): value is Bytes => value instanceof BrowserBytes,
  byteLength: (text: string): number => encoder.encode(text).length,
};

/** True for valid UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Node's `hash`, of SHA-256 only. */
export function hash(_algorithm: 'sha256', data: string | Uint8Array, encoding: Encoding): string {
  return decode(sha256(typeof data === 'string' ? encoder.encode(data) : data), encoding);
}
