import { isOnFabric, type ProvedRecord } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import {
  LedgerArchivedError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  type LedgerReader,
} from '@sealgate/ledger-port';
import { rowScopeOf, type RiskCaller } from './caller.ts';
import type { StoredProof } from './anchor-evidence.ts';
import type { Evidence } from './evidence.ts';
import { noSuchRow } from './manage-resources.ts';
import type { ResourceReads } from './resource-ports.ts';

/** The ledger record of a fingerprint: its proof, which is made once, and its content. */
export interface AnchoredRecord {
  readonly proof: StoredProof | undefined;
  readonly data: JsonValue;
}

export interface ProveEvidencePorts {
  readonly reads: Pick<ResourceReads, 'find'>;
  /** Undefined for a record that is not in the ledger. */
  readonly anchored: (orgId: string, ledgerRecordId: string) => Promise<AnchoredRecord | undefined>;
  /** Fails within the deadline of the ledger. */
  readonly prove: LedgerReader['prove'];
  /** Where peers prove records: the channel of fingerprints. Undefined on a ledger with a log. */
  readonly peersChannel: string | undefined;
}

/** A record and its proof, as `sealgate-verify receipt` takes them. */
export type ProvedEvidence = ProvedRecord & {
  /** The content of the record; null once it was erased from the ledger. */
  readonly record: { readonly data: JsonValue };
};

/**
 * The proof that the fingerprint of evidence is in the ledger, against the first checkpoint that covered it: a newer one
 * would tell of rows that the caller may not see. In a log that began with a declared loss it is against the newest, as
 * it has to show the declaration. On Fabric, what peers signed first; while nothing is stored, they are asked now.
 * @throws AppError NOT_FOUND if the caller may not see the evidence, or it has no proof; LEDGER_UNAVAILABLE, RECORD_ARCHIVED.
 */
export async function proveEvidence(
  ports: ProveEvidencePorts,
  caller: RiskCaller,
  id: string,
): Promise<ProvedEvidence> {
  const row = await ports.reads.find('evidence', id, rowScopeOf(caller));
  if (row === undefined) throw noSuchRow();
  const { ledgerRecordId } = row.doc as Evidence; // Of kind 'evidence'.
  const record = ledgerRecordId === null ? undefined : await ports.anchored(caller.orgId, ledgerRecordId);
  if (ledgerRecordId === null || record === undefined) throw noProof();
  const { proof, data } = record;
  if (proof !== undefined && 'receipt' in proof) return { ...proof, record: { data } };
  if (proof === undefined && ports.peersChannel === undefined) throw noProof();
  const newest = await asked(() => ports.prove(proof?.channel ?? ports.peersChannel!, ledgerRecordId));
  if (newest === undefined) throw new AppError('NOT_FOUND', 'The ledger does not contain the record of this evidence.');
  if (isOnFabric(newest)) return { ...newest, record: { data } };
  const isSame = newest.proof.epoch === undefined && newest.proof.index === proof?.index;
  const { receipt } = newest;
  return { receipt, proof: isSame ? proof : newest.proof, record: { data: receipt.salt === null ? null : data } };
}

const noProof = (): AppError => new AppError('NOT_FOUND', 'This evidence has no proof: it is not in the ledger yet.');

async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof LedgerArchivedError) throw new AppError('RECORD_ARCHIVED', cause.message, { cause });
    if (!(cause instanceof LedgerUnavailableError || cause instanceof LedgerOverloadedError)) throw cause;
    throw new AppError('LEDGER_UNAVAILABLE', 'The ledger cannot prove it now.', { retryAfterSeconds: 1, cause });
  }
}
