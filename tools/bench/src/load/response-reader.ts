const headEnd = Buffer.from('\r\n\r\n');
const lengthNames = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];
const statusAt = 'HTTP/1.1 '.length;
const headMaxBytes = 16_384;
const closeHeader = Buffer.from('\r\nConnection: close\r\n');
const nothing = Buffer.alloc(0);

/**
 * Reads the answers of one connection with one request in flight: only the status, the end of the body and the presence
 * of a text matter. An answer needs a Content-Length; every server measured here sends one.
 */
export class ResponseReader {
  #status = 0;
  #missing = 0;
  /** The first bytes of an incomplete head. */
  #begun: Buffer | undefined;
  readonly #mustSay: Buffer | undefined;
  #says = true;
  /** The end of the previous bytes, in which the required text may have begun. */
  #rest: Buffer = nothing;
  readonly #seesClose: boolean;
  #closes = false;

  /** `mustSay`: a text that every answer should contain; `seesClose`: also reads whether the server closes. */
  constructor(mustSay?: string, { seesClose = false }: { readonly seesClose?: boolean } = {}) {
    this.#mustSay = mustSay === undefined ? undefined : Buffer.from(mustSay);
    this.#seesClose = seesClose;
  }

  /** The status of the last complete answer. */
  get status(): number {
    return this.#status;
  }

  /** Whether the last complete answer contains the required text. */
  get says(): boolean {
    return this.#says;
  }

  /** Whether the server announced with the last complete answer that it closes the connection. */
  get closes(): boolean {
    return this.#closes;
  }

  /** Takes the next bytes; true when they complete an answer. Throws Error for an answer that it cannot parse. */
  take(bytes: Buffer): boolean {
    if (this.#missing > 0) {
      this.#missing -= bytes.length;
      if (!this.#says) this.#search(Buffer.concat([this.#rest, bytes]));
      return this.#ended();
    }
    const all = this.#begun === undefined ? bytes : Buffer.concat([this.#begun, bytes]);
    const end = all.indexOf(headEnd);
    if (end === -1) {
      if (all.length > headMaxBytes) throw new Error('The head of an answer has no end.');
      this.#begun = Buffer.from(all); // A copy: the bytes of the socket are overwritten by the next ones.
      return false;
    }
    this.#begun = undefined;
    this.#status = digitsAt(all, statusAt, statusAt + 3);
    if (this.#seesClose) this.#closes = all.subarray(0, end + 2).includes(closeHeader);
    this.#missing = end + headEnd.length + contentLength(all, end) - all.length;
    this.#search(all.subarray(end));
    return this.#ended();
  }

  #search(bytes: Buffer): void {
    if (this.#mustSay === undefined) return;
    this.#says = bytes.includes(this.#mustSay);
    this.#rest = this.#says || this.#missing === 0 ? nothing : Buffer.from(bytes.subarray(-this.#mustSay.length));
  }

  #ended(): boolean {
    if (this.#missing < 0) throw new Error('More bytes came than the answer has.');
    return this.#missing === 0;
  }
}

function contentLength(bytes: Buffer, end: number): number {
  for (const name of lengthNames) {
    const at = bytes.indexOf(name);
    if (at !== -1 && at < end) return digitsAt(bytes, at + name.length, end);
  }
  throw new Error('An answer has no Content-Length.');
}

/** The number that begins at `from`; it ends at the first byte that is not a digit. */
function digitsAt(bytes: Buffer, from: number, end: number): number {
  let number = 0;
  for (let at = from; at < end; at += 1) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) break;
    number = number * 10 + digit;
  }
  return number;
}
