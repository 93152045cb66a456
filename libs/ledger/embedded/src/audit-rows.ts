import { hash } from 'node:crypto';

/**
 * Rows of `audit_records_v1`, read in place: PostgreSQL's binary composite is a field count, then type, length and
 * bytes of each field. No string is made of a row that is as it should be: an audit of a million records is as fast as
 * its two million hashes.
 */
const FIELD = {
  idx: 0,
  atMs: 1,
  erased: 2,
  salt: 3,
  dataHash: 4,
  leafHash: 5,
  transactionId: 6,
  id: 7,
  type: 8,
  owner: 9,
  data: 10,
  extra: 11,
} as const;
const FIELDS = 12;

const DATA = Buffer.from('{"data":');
const EXTRA = Buffer.from(',"extra":');
const NO_EXTRA = Buffer.from(',"extra":null}');
const CLOSE = Buffer.from('}');
const ID = Buffer.from('","id":');
const NOTHING: Buffer = Buffer.alloc(0);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What the leaves of a channel share, as JSON texts. */
export interface LeafMembers {
  readonly channel: string;
  readonly network: string;
}

export class AuditRow {
  readonly #leaf: LeafMembers;
  readonly #starts = new Int32Array(FIELDS);
  readonly #lengths = new Int32Array(FIELDS);
  #rows: Buffer = Buffer.alloc(0);
  #scratch: Buffer = Buffer.alloc(65_536);
  // The bytes that neighbours often share, with what they were made from.
  #head = { source: NOTHING, bytes: NOTHING };
  #tail = { transaction: NOTHING, kind: NOTHING, bytes: NOTHING };

  constructor(leaf: LeafMembers) {
    this.#leaf = leaf;
  }

  /** Reads the row at `at`; returns where the next begins. */
  read(rows: Buffer, at: number): number {
    this.#rows = rows;
    let next = at + 4;
    for (let field = 0; field < FIELDS; field += 1) {
      const length = rows.readInt32BE(next + 4);
      this.#starts[field] = next + 8;
      this.#lengths[field] = length;
      next += length > 0 ? 8 + length : 8;
    }
    return next;
  }

  get id(): string {
    return this.#text(FIELD.id);
  }

  get index(): number {
    return Number(this.#rows.readBigInt64BE(this.#starts[FIELD.idx]));
  }

  get leafHash(): Buffer {
    return this.#bytes(FIELD.leafHash);
  }

  /** What is wrong with the row, or undefined. */
  problem(index: number): string | undefined {
    const content = this.#contentProblem();
    if (content !== undefined) return `record ${index}: ${content}`;
    return hashes(this.#leafBytes(), this.leafHash) ? undefined : `record ${index} is not what its leaf was made of`;
  }

  #contentProblem(): string | undefined {
    const erased = this.#rows[this.#starts[FIELD.erased]!] === 1;
    const [data, extra, salt] = [this.#isNull(FIELD.data), this.#isNull(FIELD.extra), this.#isNull(FIELD.salt)];
    if (erased && data && extra && salt) return undefined;
    if (erased) return 'content and erasure do not agree';
    if (data || salt) return 'its content is missing, and no erasure says so';
    return hashes(this.#contentBytes(), this.#bytes(FIELD.dataHash)) ? undefined : 'its content is not what was hashed';
  }

  /** salt ‖ {"data":data,"extra":extra}. */
  #contentBytes(): Buffer {
    const out = this.#room(
      this.#lengths[FIELD.salt]! + this.#lengths[FIELD.data]! + Math.max(this.#lengths[FIELD.extra]!, 0) + 64,
    );
    let at = this.#copy(out, 0, FIELD.salt);
    at += DATA.copy(out, at);
    at = this.#copy(out, at, FIELD.data);
    if (this.#isNull(FIELD.extra)) at += NO_EXTRA.copy(out, at);
    else {
      at += EXTRA.copy(out, at);
      at = this.#copy(out, at, FIELD.extra);
      at += CLOSE.copy(out, at);
    }
    return out.subarray(0, at);
  }

  /** 0x00, then the leaf in JCS order: at, channel, dataHash | id | network, owner, transactionId, type, v. */
  #leafBytes(): Buffer {
    const [head, tail] = [this.#headBytes(), this.#tailBytes()];
    const id = this.#idBytes();
    const out = this.#room(head.length + tail.length + id.length + 128);
    let at = head.copy(out, 0);
    at += out.write(this.#bytes(FIELD.dataHash).toString('hex'), at, 'latin1');
    at += ID.copy(out, at);
    at += id.copy(out, at);
    at += tail.copy(out, at);
    return out.subarray(0, at);
  }

  #headBytes(): Buffer {
    const source = this.#bytes(FIELD.atMs);
    if (!this.#head.source.equals(source)) {
      const at = new Date(Number(source.readBigInt64BE())).toISOString();
      const bytes = Buffer.from(`\0{"at":"${at}","channel":${this.#leaf.channel},"dataHash":"`);
      this.#head = { source: Buffer.from(source), bytes };
    }
    return this.#head.bytes;
  }

  #tailBytes(): Buffer {
    // Type and owner follow one another in the row, lengths included.
    const transaction = this.#bytes(FIELD.transactionId);
    const from = this.#starts[FIELD.type]! - 4;
    const kind = this.#rows.subarray(from, this.#starts[FIELD.owner]! + Math.max(this.#lengths[FIELD.owner]!, 0));
    const known = this.#tail;
    if (known.transaction.equals(transaction) && known.kind.equals(kind)) return known.bytes;
    const owner = this.#isNull(FIELD.owner) ? 'null' : JSON.stringify(this.#text(FIELD.owner));
    const type = JSON.stringify(this.#text(FIELD.type));
    const hex = transaction.toString('hex');
    const bytes = Buffer.from(
      `,"network":${this.#leaf.network},"owner":${owner},"transactionId":"${hex}","type":${type},"v":1}`,
    );
    this.#tail = { transaction: Buffer.from(transaction), kind: Buffer.from(kind), bytes };
    return bytes;
  }

  /** The id as JSON. One without quote and backslash (control characters are refused on the way in) is its own JSON. */
  #idBytes(): Buffer {
    const raw = this.#bytes(FIELD.id);
    const escaped = raw.includes(QUOTE) || raw.includes(BACKSLASH);
    const out = Buffer.allocUnsafe(raw.length + 2);
    if (escaped) return Buffer.from(JSON.stringify(raw.toString('utf8')));
    out[0] = QUOTE;
    raw.copy(out, 1);
    out[raw.length + 1] = QUOTE;
    return out;
  }

  #bytes(field: number): Buffer {
    const start = this.#starts[field]!;
    return this.#rows.subarray(start, start + Math.max(this.#lengths[field]!, 0));
  }

  #text(field: number): string {
    return this.#bytes(field).toString('utf8');
  }

  #isNull(field: number): boolean {
    return this.#lengths[field] === -1;
  }

  #copy(out: Buffer, at: number, field: number): number {
    const start = this.#starts[field]!;
    const length = Math.max(this.#lengths[field]!, 0);
    this.#rows.copy(out, at, start, start + length);
    return at + length;
  }

  #room(bytes: number): Buffer {
    if (this.#scratch.length < bytes) this.#scratch = Buffer.alloc(bytes * 2);
    return this.#scratch;
  }
}

/** Whether the digest of the bytes is this one; as strings, because a digest as a Buffer costs several times as much. */
function hashes(bytes: Buffer, digest: Buffer): boolean {
  return hash('sha256', bytes, 'binary') === digest.toString('latin1');
}
