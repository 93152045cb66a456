import type { RecordProof, Receipt } from '@sealgate/envelope';
import type { NewRecord, RecordReceipt, StoredRecord } from './records.ts';

/** The idempotency claim of a unit: a row in the unit's own transaction. See `@sealgate/idempotency`. */
export interface UnitClaim {
  /** 32 bytes that name (scope, key). */
  readonly claim: Buffer;
  /** `<secretId>:<base64url>`; kept. */
  readonly fingerprint: string;
  /** Every fingerprint that is the same request, one per server secret; the first is `fingerprint`. */
  readonly acceptable: readonly string[];
}

/**
 * What lets a unit be written, and what was known of it: the key of its sender, say. Plain words without spaces, and no
 * secrets, since a driver may log them.
 */
export interface UnitGuard {
  readonly kind: string;
  readonly id: string;
  /** Another one as soon as anything changes on which the unit depends. */
  readonly version: string;
}

/** One transaction: all of it is written, or nothing. */
export interface AppendUnit {
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly claim?: UnitClaim;
  /**
   * The caller's own words about the unit: kept with the claim, given back by a replay. What stands behind a form feed is for
   * the moment of writing alone: a driver need not keep it.
   */
  readonly note: string;
  /**
   * 16 bytes that nobody could know before, and that no unit of another request has: the driver may make the transaction's
   * id with them. Drawn by the driver where there are none. A note that holds their digits is kept in fewer bytes.
   */
  readonly nonce?: Buffer;
  /**
   * Confirmed in the unit's own transaction. A replay and a reuse write nothing, and confirm nothing. For drivers that can:
   * one that cannot is given none.
   */
  readonly guard?: UnitGuard;
  /** At least one; no id twice. */
  readonly records: readonly NewRecord[];
}

/**
 * What became of a unit.
 * - written: now, by this unit (some of its records may have been there before: `existing` on the receipt)
 * - existing: every record was there with this content
 * - replayed: the claim was there with this fingerprint; the receipts are what it wrote then
 * - reused: the claim was there with another fingerprint; nothing written
 * - conflict: `id` holds other content; nothing written
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

/** All that a surface may do that only writes. Nothing else of a ledger can be named through it. */
export interface LedgerAppender {
  /**
   * Writes one unit, create-once. Resolves when the outcome is known; it cannot hang: within the driver's own
   * deadline it rejects with
   * - LedgerUnavailableError: nothing was written,
   * - LedgerOverloadedError: nothing was written, the queue is full,
   * - StaleGuardError: nothing was written, the guard is not what it was,
   * - OutcomeUnknownError: it may have been; the driver goes on settling it by sending the same bytes again.
   */
  append(unit: AppendUnit): Promise<UnitResult>;
  /**
   * The id of a unit that holds other content now, or undefined; writes nothing. A unit whose claim is taken conflicts
   * with nothing: it is a replay or a reuse, as `append` will say. For a request of several units, which is to be refused
   * before the first of them is written.
   */
  findConflict(unit: AppendUnit): Promise<string | undefined>;
}

/** `problem` null means healthy; with `ok`, it names what is wrong while the rest of the ledger works. */
export interface LedgerHealth {
  readonly ok: boolean;
  readonly problem: string | null;
  /** Where the ledger is contracts of others' networks: each of them. One that can be reached is enough for `ok`. */
  readonly contracts?: readonly ContractHealth[];
}

export interface ContractHealth {
  /** The network's own names. */
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

/** Which records go to the files of an archive: those below an index, or those older than a time. */
export type ArchiveOrder =
  { readonly channel: string; readonly before: number } | { readonly channel: string; readonly olderThanMs: number };

export interface ArchiveProgress {
  readonly channel: string;
  readonly size: number;
  /** Records of the channel that are archived, from the first on. */
  readonly archived: number;
  /** How far the order reaches: whole tiles of 256 records, all of them signed for. */
  readonly until: number;
}

export interface RecordQuery {
  readonly channel: string;
  readonly type: string;
  /** Records behind this id, in code point order; '' from the first. */
  readonly afterId: string;
  readonly limit: number;
}

/** What a ledger answers. Reads reject with LedgerUnavailableError when it cannot be asked: absent is `undefined`, never an error. */
export interface LedgerReader {
  read(channel: string, id: string): Promise<StoredRecord | undefined>;
  query(query: RecordQuery): Promise<readonly StoredRecord[]>;
  /** A proof against a checkpoint that covers the record; waits for one for at most a few seconds. */
  prove(channel: string, id: string): Promise<{ receipt: Receipt; proof: RecordProof } | undefined>;
  /** The newest signed note (C2SP tlog-checkpoint), or undefined before the first. */
  checkpoint(channel: string): Promise<string | undefined>;
  /** Walks the whole channel and names the first record that is not what was written. `onWalked` hears how far it came. */
  audit(channel: string, signal?: AbortSignal, onWalked?: (records: number) => void): Promise<AuditReport>;
  health(): Promise<LedgerHealth>;
}

export interface Ledger extends LedgerAppender, LedgerReader {}
