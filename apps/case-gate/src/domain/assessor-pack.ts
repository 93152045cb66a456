import type { DocumentSigner } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { canonical, sha256, type JsonValue } from '@sealgate/json';
import type { LedgerReader } from '@sealgate/ledger-port';
import {
  PackAttachment,
  PackDecision,
  type Attachment,
  type CaseRecord,
  type Decision,
  type Seal,
  type TimelineEvent,
} from './case-record.ts';
import { noCase } from './case-lifetime.ts';
import { answerOf } from '../schemas.ts';

/** Everything about one case, from one snapshot. */
export interface CaseFile {
  readonly record: CaseRecord;
  readonly timeline: readonly TimelineEvent[];
  readonly decisions: readonly Decision[];
  readonly attachments: readonly Attachment[];
  /** Completed seals, in the order of sealing. */
  readonly seals: readonly Seal[];
}

export interface PackPorts {
  /** Reads everything in one snapshot. Undefined for a case of another environment too. */
  readonly readCaseFile: (environment: string, caseId: string) => Promise<CaseFile | undefined>;
  readonly ledger: Pick<LedgerReader, 'prove'> & { readonly isLog: boolean };
  /** The channel of the seals. */
  readonly channel: string;
  /** Stores the proof of a seal unless one is stored. Returns the stored one. */
  readonly keepProof: (ledgerRecordId: string, proof: string) => Promise<string>;
  readonly signer: DocumentSigner;
  readonly now: () => number;
}

const CANONICALIZATION = 'RFC8785';

/** The hashed and signed members: all but generated_at, pack_hash and signature. */
type SignedMembers = {
  readonly case_id: string;
  readonly subject_ref: string;
  readonly status: string;
  readonly timeline: JsonValue;
  readonly decisions: JsonValue;
  readonly attachments: JsonValue;
  readonly seals: JsonValue;
  readonly canonicalization: string;
};

export type AssessorPack = SignedMembers & {
  readonly generated_at: string;
  readonly pack_hash: string;
  readonly signature: string;
};

/**
 * Assembles the pack of a case. Apart from the generation time its bytes stay the same as long as the case does,
 * because each proof is the first one that was stored.
 * @throws AppError NOT_FOUND, CASE_NOT_SEALED, and as `proveSeal`.
 */
export async function assemblePack(
  ports: PackPorts,
  { environment, caseId, isDraft }: { environment: string; caseId: string; isDraft: boolean },
): Promise<AssessorPack> {
  const file = await ports.readCaseFile(environment, caseId);
  if (file === undefined) throw noCase();
  if (!isDraft && file.seals.length === 0) {
    throw new AppError('CASE_NOT_SEALED', 'The case has not been sealed; ?draft=true exports it unsealed.');
  }
  const seals: JsonValue[] = [];
  for (const seal of isDraft ? [] : file.seals) seals.push(await sealEntry(ports, seal));
  const { record } = file;
  const signed: SignedMembers = {
    case_id: record.case_id,
    subject_ref: record.subject_ref,
    status: record.status,
    timeline: file.timeline.map((event) => ({ ...event })),
    decisions: file.decisions.map((decision) => answerOf(PackDecision, decision)),
    attachments: file.attachments.map((attachment) => answerOf(PackAttachment, attachment)),
    seals,
    canonicalization: CANONICALIZATION,
  };
  const bytes = Buffer.from(canonical(signed));
  return {
    ...signed,
    generated_at: new Date(ports.now()).toISOString(),
    pack_hash: sha256(bytes).toString('hex'),
    signature: ports.signer.sign(bytes),
  };
}

async function sealEntry(ports: PackPorts, seal: Seal): Promise<JsonValue> {
  const proof = seal.proof ?? (await proveSeal(ports, seal.ledger_record_id));
  return {
    document: JSON.parse(seal.document) as JsonValue,
    seal_hash: seal.seal_hash,
    ledger_record_id: seal.ledger_record_id,
    proof: JSON.parse(proof) as JsonValue,
  };
}

/**
 * Proves a seal and stores the proof: `{receipt, proof}`, the input of a verifier; `null` for one that is not on the
 * Fabric network, because it was made before the driver of the ledger was changed.
 * @throws AppError LEDGER_UNAVAILABLE while no checkpoint covers it, or too few peers sign for it.
 */
export async function proveSeal(
  { ledger, channel, keepProof }: Pick<PackPorts, 'ledger' | 'channel' | 'keepProof'>,
  ledgerRecordId: string,
): Promise<string> {
  const proved = await ledger.prove(channel, ledgerRecordId).catch((cause: unknown) => {
    const detail = ledger.isLog ? 'No checkpoint covers the seal yet.' : 'Too few peers sign for the seal now.';
    throw new AppError('LEDGER_UNAVAILABLE', detail, { retryAfterSeconds: 1, cause });
  });
  if (proved === undefined && !ledger.isLog) return keepProof(ledgerRecordId, 'null');
  if (proved === undefined) throw new Error('The ledger has no record of a completed seal.');
  return keepProof(ledgerRecordId, canonical({ receipt: { ...proved.receipt }, proof: { ...proved.proof } }));
}
