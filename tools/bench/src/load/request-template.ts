import assert from 'node:assert/strict';

const keyDigits = 9;

export interface RequestTemplateOptions {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Visible ASCII. The key is this, a number of nine digits behind it. */
  readonly keyPrefix: string;
}

/** A whole HTTP request as bytes, of which only the digits of the Idempotency-Key change from one to the next. */
export class RequestTemplate {
  readonly bytes: Buffer;
  readonly #lastDigit: number;

  constructor({ port, path, headers, body, keyPrefix }: RequestTemplateOptions) {
    assert.match(keyPrefix, /^[\x21-\x7e]+$/, 'The key goes on the wire as it is.');
    const key = `${keyPrefix}${'0'.repeat(keyDigits)}`;
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Idempotency-Key: ${key}`,
    ].join('\r\n');
    this.bytes = Buffer.from(`${head}\r\n\r\n${body}`);
    this.#lastDigit = Buffer.byteLength(head) - 1;
  }

  /** Counts the key up by one, in place: the request before must have been answered. */
  next(): Buffer {
    for (let at = this.#lastDigit; ; at -= 1) {
      assert(at > this.#lastDigit - keyDigits, 'A connection sends fewer requests than nine digits can count.');
      const digit = this.bytes[at]!;
      if (digit < 0x39) {
        this.bytes[at] = digit + 1;
        return this.bytes;
      }
      this.bytes[at] = 0x30;
    }
  }
}
