import { isOnFabric, type ProvedOnFabric, type ProvedRecord, type RecordProof } from '@sealgate/envelope';
import {
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type LedgerAppender,
  type LedgerReader,
} from '@sealgate/ledger-port';
import { inSpan } from '@sealgate/observability';

/** A fingerprint to write to the ledger. `data` is the data of its record, fixed when the evidence was approved. */
export interface Anchor {
  readonly ledgerRecordId: string;
  readonly orgId: string;
  readonly evidenceId: string;
  readonly sha256: string;
  readonly data: string;
  readonly state: 'waiting' | 'anchored';
  readonly attempts: number;
}

/** A proof as it is stored. In a log: without what tells of a declared loss, as its checkpoint names the log. */
export type StoredProof = Omit<RecordProof, 'epoch' | 'origin' | 'declaration'> | ProvedOnFabric;

export interface ProvenAnchor extends Anchor {
  readonly proof: StoredProof;
  readonly sealedAt: string;
}

export interface AnchorStore {
  /** Leases the anchors that are due; no other process takes them until the lease ends. */
  take(taking: { readonly nowMs: number; readonly leaseMs: number; readonly limit: number }): Promise<Anchor[]>;
  postpone(anchor: Anchor, untilMs: number): Promise<void>;
  /** The ledger holds a different record under this id: permanent. */
  refuse(anchor: Anchor): Promise<void>;
  anchored(anchor: Anchor): Promise<void>;
  /** Anchored elsewhere, before the driver of the ledger was changed to Fabric: done, without a proof. */
  unproved(anchor: Anchor): Promise<void>;
  proved(anchor: ProvenAnchor): Promise<void>;
}

export interface AnchorPorts {
  readonly store: AnchorStore;
  readonly ledger: LedgerAppender & Pick<LedgerReader, 'prove'> & { readonly hasLog: boolean };
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with an unexpected error, for the log; the anchor is retried. */
  readonly onFailure: (anchor: Anchor, error: unknown) => void;
  readonly onRefused: (anchor: Anchor) => void;
}

const LEASE_MS = 12_000;
const BATCH_SIZE = 50;
const MIN_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;

/**
 * Advances every due fingerprint: first into the ledger, then to its proof. Each step is idempotent, so another process
 * may repeat it, or this one after a crash: id and content of the record are fixed, the ledger writes it once, and a
 * row leaves each state only once.
 * @returns how many were taken.
 */
export async function anchorDue(ports: AnchorPorts): Promise<number> {
  const due = await ports.store.take({ nowMs: ports.now(), leaseMs: LEASE_MS, limit: BATCH_SIZE });
  const start = { name: 'anchor evidence', beginsTrace: true };
  await Promise.all(due.map((anchor) => inSpan(start, () => step(ports, anchor))));
  return due.length;
}

async function step(ports: AnchorPorts, anchor: Anchor): Promise<void> {
  try {
    if (anchor.state === 'waiting' && !(await append(ports, anchor))) return;
    await prove(ports, anchor);
  } catch (error) {
    if (!isOutage(error)) ports.onFailure(anchor, error);
    // If this write fails too, the lease simply expires.
    await ports.store.postpone(anchor, ports.now() + backoffMs(anchor.attempts)).catch(() => undefined);
  }
}

/** Returns whether the record is in the ledger. */
async function append({ ledger, store, network, channel, onRefused }: AnchorPorts, anchor: Anchor): Promise<boolean> {
  const { ledgerRecordId: id, orgId, data } = anchor;
  const record = { id, type: 'evidence', owner: orgId, data, extra: null };
  const { outcome } = await ledger.append({ network, channel, note: '{}', records: [record] });
  if (outcome === 'conflict' || outcome === 'reused') {
    await store.refuse(anchor);
    onRefused(anchor);
    return false;
  }
  await store.anchored(anchor);
  return true;
}

async function prove({ ledger, store, channel }: AnchorPorts, anchor: Anchor): Promise<void> {
  const found = await ledger.prove(channel, anchor.ledgerRecordId);
  if (found === undefined && !ledger.hasLog) return store.unproved(anchor);
  if (found === undefined) throw new LedgerUnavailableError('The record cannot be read yet.');
  await store.proved({ ...anchor, proof: storedProof(found), sealedAt: found.receipt.at });
}

function storedProof(proved: ProvedRecord): StoredProof {
  if (isOnFabric(proved)) return proved;
  const { channel, index, leafHash, treeSize, inclusionPath, checkpoint } = proved.proof;
  return { channel, index, leafHash, treeSize, inclusionPath, checkpoint };
}

/** Expected outages: the anchor stays in the outbox and is retried. */
function isOutage(error: unknown): boolean {
  const isOurs = error instanceof LedgerUnavailableError || error instanceof LedgerOverloadedError;
  return isOurs || error instanceof OutcomeUnknownError;
}

function backoffMs(attempts: number): number {
  return Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(attempts, 10));
}
