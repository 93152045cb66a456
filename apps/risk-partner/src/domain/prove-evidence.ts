import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import {
  LedgerArchivedError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  type LedgerReader,
} from '@sealgate/ledger-port';
import { rowScopeOf, type RiskCaller } from './caller.ts';
import type { ProvenAnchor } from './anchor-evidence.ts';
import type { Evidence } from './evidence.ts';
import { noSuchRow } from './manage-resources.ts';
import type { ResourceReads } from './resource-ports.ts';

type Proved = Exclude<Awaited<ReturnType<LedgerReader['prove']>>, undefined>;

/** The ledger record of a fingerprint: its proof, which was made once, and its content. */
export interface AnchoredRecord {
  readonly proof: ProvenAnchor['proof'];
  readonly data: JsonValue;
}

export interface ProveEvidencePorts {
  readonly reads: Pick<ResourceReads, 'find'>;
  /** Undefined until its proof has been made, and on a ledger without a public log. */
  readonly anchored: (orgId: string, ledgerRecordId: string) => Promise<AnchoredRecord | undefined>;
  /** Fails within the deadline of the ledger's pool. */
  readonly prove: LedgerReader['prove'];
}

/** A record and its proof, as `sealgate-verify receipt` takes them. */
export interface ProvedEvidence extends Proved {
  /** The content of the record; null once it was erased from the ledger. */
  readonly record: { readonly data: JsonValue };
}

/**
 * The proof that the fingerprint of evidence is in the ledger, against the first checkpoint that covered it: a newer one
 * would tell of rows that the caller may not see. In a log that began with a declared loss it is against the newest, as
 * it has to show the declaration.
 * @throws AppError NOT_FOUND if the caller may not see the evidence, or it has no proof; LEDGER_UNAVAILABLE, RECORD_ARCHIVED.
 */
export async function proveEvidence(
  { reads, anchored, prove }: ProveEvidencePorts,
  caller: RiskCaller,
  id: string,
): Promise<ProvedEvidence> {
  const row = await reads.find('evidence', id, rowScopeOf(caller));
  if (row === undefined) throw noSuchRow();
  const { ledgerRecordId } = row.doc as Evidence; // Of kind 'evidence'.
  const record = ledgerRecordId === null ? undefined : await anchored(caller.orgId, ledgerRecordId);
  if (ledgerRecordId === null || record === undefined)
    throw new AppError(
      'NOT_FOUND',
      'This evidence has no proof: it is not in the ledger yet, or its ledger has no log.',
    );
  const newest = await asked(() => prove(record.proof.channel, ledgerRecordId));
  if (newest === undefined) throw new AppError('NOT_FOUND', 'The ledger does not contain the record of this evidence.');
  const { receipt } = newest;
  const isSame = newest.proof.epoch === undefined && newest.proof.index === record.proof.index;
  const data = receipt.salt === null ? null : record.data;
  return { receipt, proof: isSame ? record.proof : newest.proof, record: { data } };
}

async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof LedgerArchivedError) throw new AppError('RECORD_ARCHIVED', cause.message, { cause });
    if (!(cause instanceof LedgerUnavailableError || cause instanceof LedgerOverloadedError)) throw cause;
    throw new AppError('LEDGER_UNAVAILABLE', 'The ledger cannot prove it now.', { retryAfterSeconds: 1, cause });
  }
}
