import assert from 'node:assert/strict';

const keyDigits = 9;

/** A complete HTTP request as bytes, in which only the digits of the key change. */
export class RequestTemplate {
  readonly bytes: Buffer;
  /** The end of each copy of the key. */
  readonly #lastDigits: readonly number[];

  constructor({
    port,
    path,
    headers,
    body = '',
    keyPrefix,
    sendsKey = true,
  }: {
    readonly port: number;
    readonly path: string;
    /** `{key}` in a value is replaced by the request's key. */
    readonly headers: Readonly<Record<string, string>>;
    /** `{key}` in it is replaced by the request's key, so that ids in it are unique. */
    readonly body?: string;
    /** Visible ASCII. A key is this prefix and a number of nine digits. */
    readonly keyPrefix: string;
    /** False: no Idempotency-Key is sent. */
    readonly sendsKey?: boolean;
  }) {
    assert.match(keyPrefix, /^[\x21-\x7e]+$/, 'The key is sent on the wire as it is.');
    const key = `${keyPrefix}${'0'.repeat(keyDigits)}`;
    const content = body.replaceAll('{key}', key);
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value.replaceAll('{key}', key)}`),
      `Content-Length: ${Buffer.byteLength(content)}`,
      ...(sendsKey ? [`Idempotency-Key: ${key}`] : []),
    ].join('\r\n');
    this.bytes = Buffer.from(`${head}\r\n\r\n${content}`);
    this.#lastDigits = endsOf(this.bytes, key);
  }

  /** Increments the key in place; the previous request must have been answered. */
  next(): Buffer {
    for (const lastDigit of this.#lastDigits) this.#countUp(lastDigit);
    return this.bytes;
  }

  #countUp(lastDigit: number): void {
    for (let at = lastDigit; ; at -= 1) {
      assert(at > lastDigit - keyDigits, 'A connection sends fewer requests than nine digits can count.');
      const digit = this.bytes[at]!;
      if (digit < 0x39) {
        this.bytes[at] = digit + 1;
        return;
      }
      this.bytes[at] = 0x30;
    }
  }
}

function endsOf(bytes: Buffer, key: string): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) ends.push(at + key.length - 1);
  return ends;
}
