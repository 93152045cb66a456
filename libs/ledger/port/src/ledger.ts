import type { ProvedRecord } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';

/** A record to be written. Identity is (network, channel, id); the rest is content. */
export interface NewRecord {
  /** 1-256 code points. */
  readonly id: string;
  /** 1-128 code points. */
  readonly type: string;
  readonly owner: string | null;
  /** The canonical JSON text (RFC 8785) of the data object. */
  readonly data: string;
  /** The canonical JSON text of the members beside the data, or null. */
  readonly extra: string | null;
}

/** The position of a record. `index` and `leafHash` are absent on a ledger without a public log (Fabric). */
export interface RecordReceipt {
  readonly id: string;
  readonly channel: string;
  readonly transactionId: string;
  readonly index?: number;
  /** The log of the channel that `index` refers to; absent before the channel's first declared loss. */
  readonly epoch?: number;
  /** Lower hex of the RFC 6962 leaf hash. */
  readonly leafHash?: string;
  /** True: the record existed before this unit, with this content. */
  readonly existing: boolean;
}

/** A record as read back. `data` and `extra` are null once erased. */
export interface StoredRecord {
  readonly network: string;
  readonly channel: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly data: JsonValue;
  readonly extra: JsonValue;
  readonly erased: boolean;
  readonly index?: number;
  /** As in a receipt. */
  readonly epoch?: number;
  readonly transactionId: string;
  /** RFC 3339, UTC, three fraction digits. */
  readonly at: string;
}

/** The idempotency claim of a unit: a row in the unit's own transaction. See `@sealgate/idempotency`. */
export interface UnitClaim {
  /** 32 bytes that identify (scope, key). */
  readonly claim: Buffer;
  /** `<secretId>:<base64url>`; stored. */
  readonly fingerprint: string;
  /** All fingerprints of the same request, one per server secret; the first is `fingerprint`. */
  readonly acceptable: readonly string[];
}

/**
 * The precondition of a unit and its known version: the sender's key, for example. Plain words without spaces or
 * secrets, since a driver may log them.
 */
export interface UnitGuard {
  readonly kind: string;
  readonly id: string;
  /** Changes whenever anything changes that the unit depends on. */
  readonly version: string;
}

/** The request that a unit is of, for a surface that keeps an event of each: a driver that can writes it with the records. */
export interface UnitEvent {
  readonly eventId: string;
  /** Number of units of the request. */
  readonly units: number;
  readonly strippedFields: number;
  /** The key or source of the sender. */
  readonly keyId: string;
  readonly requestId: string;
  readonly types: readonly string[];
  /** The id that the sender of a webhook gave the delivery. */
  readonly deliveryId?: string | undefined;
}

/** One transaction: all of it is written, or nothing. */
export interface AppendUnit {
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly claim?: UnitClaim;
  /** The caller's note: stored with the claim and returned by a replay. */
  readonly note: string;
  /** Passed on to whoever writes events; not part of the unit's transaction id. */
  readonly event?: UnitEvent;
  /**
   * 16 unpredictable bytes, unique to the request; the driver may derive the transaction id from them. Drawn by the
   * driver if absent. A note that contains their digits is stored in fewer bytes.
   */
  readonly nonce?: Buffer;
  /**
   * Confirmed in the unit's own transaction, but not for a replay or a reuse, which write nothing. Only passed to
   * drivers that support it.
   */
  readonly guard?: UnitGuard;
  /** At least one; no id twice. */
  readonly records: readonly NewRecord[];
}

/**
 * Outcome of a unit.
 * - written: now, by this unit (some of its records may have existed: `existing` on the receipt)
 * - existing: every record existed with this content
 * - replayed: the claim exists with this fingerprint; the receipts are those of its first write
 * - reused: the claim exists with another fingerprint; nothing written
 * - conflict: `id` exists with other content; nothing written
 */
export type UnitResult =
  | {
      readonly outcome: 'written' | 'existing' | 'replayed';
      readonly transactionId: string;
      readonly note: string;
      readonly records: readonly RecordReceipt[];
    }
  | { readonly outcome: 'reused' }
  | { readonly outcome: 'conflict'; readonly id: string };

/** The operations of a surface that only writes; it gives no access to anything else. */
export interface LedgerAppender {
  /**
   * Writes one unit, create-once. Resolves once the outcome is known. It cannot hang: within the driver's own deadline
   * it rejects with
   * - LedgerUnavailableError: nothing was written,
   * - LedgerOverloadedError: nothing was written, the queue is full,
   * - StaleGuardError: nothing was written, the guard has changed,
   * - OutcomeUnknownError: it may have been written; the driver keeps settling it by resending the same bytes.
   */
  append(unit: AppendUnit): Promise<UnitResult>;
  /**
   * The first id of a unit that exists with other content, or undefined; writes nothing. A unit whose claim is taken
   * has no conflict: `append` will report a replay or a reuse. Used for requests of several units, to refuse them
   * before the first write.
   */
  findConflict(unit: AppendUnit): Promise<string | undefined>;
}

/** `problem` null means healthy; with `ok`, it names a problem that leaves the rest of the ledger working. */
export interface LedgerHealth {
  readonly ok: boolean;
  readonly problem: string | null;
  /**
   * Each contract, if the ledger consists of contracts on external networks. One reachable contract is enough for `ok`.
   */
  readonly contracts?: readonly ContractHealth[];
}

export interface ContractHealth {
  readonly channel: string;
  readonly chaincode: string;
  readonly ok: boolean;
  /** A word of a closed set, and its sentence. */
  readonly reason: string | null;
  readonly detail: string | null;
}

export interface AuditReport {
  readonly ok: boolean;
  readonly size: number;
  readonly firstBadRecordId: string | null;
  readonly problem: string | null;
}

/** Which records to archive: those below an index, or those older than a time. */
export type ArchiveOrder =
  { readonly channel: string; readonly before: number } | { readonly channel: string; readonly olderThanMs: number };

export interface ArchiveProgress {
  readonly channel: string;
  readonly size: number;
  /** Number of archived records of the channel, from the first on. */
  readonly archived: number;
  /** Limit of the order: whole tiles of 256 records, all signed. */
  readonly until: number;
}

export interface RecordQuery {
  readonly channel: string;
  readonly type: string;
  /** Records after this id, in code point order; '' starts at the first. */
  readonly afterId: string;
  readonly limit: number;
}

/** Reads reject with LedgerUnavailableError if the ledger cannot be queried; absent is `undefined`, never an error. */
export interface LedgerReader {
  read(channel: string, id: string): Promise<StoredRecord | undefined>;
  query(query: RecordQuery): Promise<readonly StoredRecord[]>;
  /**
   * A proof of the record. In a log, against a checkpoint that covers it; waits for one for at most a few seconds. On
   * Fabric, by peers of the organisations that endorse for the contract, made now.
   */
  prove(channel: string, id: string): Promise<ProvedRecord | undefined>;
  /** The newest signed note (C2SP tlog-checkpoint), or undefined before the first. */
  checkpoint(channel: string): Promise<string | undefined>;
  /** Audits the whole channel and names the first bad record. `onWalked` reports the progress. */
  audit(channel: string, signal?: AbortSignal, onWalked?: (records: number) => void): Promise<AuditReport>;
  health(): Promise<LedgerHealth>;
}

export interface Ledger extends LedgerAppender, LedgerReader {}

const NAME = /^[a-z0-9-]{1,40}$/;
const NETWORK_ID = /^[a-z0-9][a-z0-9-]{1,62}$/;

/** The name of a channel within its network: `^[a-z0-9-]{1,40}$`. */
export function isChannelName(name: string): boolean {
  return NAME.test(name);
}

/** `^[a-z0-9][a-z0-9-]{1,62}$`. */
export function isNetworkId(networkId: string): boolean {
  return NETWORK_ID.test(networkId);
}

/** Parses `<networkId>.<name>`; undefined if it is invalid. */
export function parseChannel(channel: string): { networkId: string; name: string } | undefined {
  const dot = channel.indexOf('.');
  const networkId = channel.slice(0, dot);
  const name = channel.slice(dot + 1);
  return dot > 0 && isNetworkId(networkId) && isChannelName(name) ? { networkId, name } : undefined;
}
