import { dataHashOf, documentSigner, generateDocumentKey, jwksOf, receiptLeaf } from '@sealgate/envelope';
import { canonical, canonicalHash, sha256, type JsonValue } from '@sealgate/json';
import { checkpointText, generateNoteKey, inclusionPath, noteSigner, TileTree, tilePath } from '@sealgate/merkle';
import { fabricProof, type ProofPlan } from './fabric-proofs.ts';

/** The key of the log of the seals. */
export const logKey = generateNoteKey('log.example');
const signer = documentSigner(generateDocumentKey());
export const jwks = jwksOf([signer.jwk]);
const CHANNEL = 'demo.cases';
const AT = '2026-01-01T00:00:00.000Z';

export type Members = { [member: string]: JsonValue };

const attachments = [{ attachment_id: 'att_1', sha256: 'a'.repeat(64) }];
const decision = {
  decision_id: 'dec_1',
  policy_version: 'p1',
  decision: 'approve',
  reason_codes: ['A'],
  valid_until: null,
  decided_at: AT,
};
const document: Members = {
  v: 1,
  case_id: 'case_1',
  subject_ref: 'subj_1',
  environment: 'live',
  venue_ids: ['hall'],
  ...decision,
  attachments,
};

/** The record of the seal in a log of seven. */
async function proofOfSeal(): Promise<Members> {
  const salt = Buffer.alloc(32, 7);
  const receipt = (id: string, data: JsonValue, index: number) => ({
    network: 'demo',
    channel: CHANNEL,
    id,
    type: 'case.seal',
    owner: null,
    dataHash: dataHashOf(salt, data, null),
    salt: salt.toString('hex'),
    extra: null,
    transactionId: 'tx',
    at: AT,
    index,
  });
  const receipts = Array.from({ length: 7 }, (_, index) =>
    index === 4 ? receipt('ledger_rec_1', document, 4) : receipt(`other-${index}`, {}, index),
  );
  const leaves = receipts.map(receiptLeaf);
  const tree = TileTree.empty();
  const tiles = [...tree.append(Buffer.concat(leaves)), ...tree.edge()];
  const stored = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  const path = await inclusionPath(4, 7, (wanted) =>
    Promise.resolve(wanted.map((tile) => stored.get(tilePath(tile))!)),
  );
  const note = checkpointText({ origin: `log.example/${CHANNEL}`, size: 7, root: tree.root() });
  const proof = {
    channel: CHANNEL,
    index: 4,
    leafHash: leaves[4]!.toString('hex'),
    treeSize: 7,
    inclusionPath: path.map((hash) => hash.toString('hex')),
    checkpoint: noteSigner(logKey.privateKey).sign(note),
  };
  return { receipt: receipts[4]!, proof };
}

const sealHash = sha256(canonical(document)).toString('hex');
const proof = await proofOfSeal();

export function timeline(): Members[] {
  let before: string | null = null;
  const events: [string, Members][] = [
    ['case.received', {}],
    ['case.decided', {}],
    ['case.sealed', { seal_hash: sealHash, ledger_record_id: 'ledger_rec_1' }],
  ];
  return events.map(([event, data], index) => {
    const rest: Members = { seq: index + 1, at: AT, event, actor: 'key_1', data, prev_hash: before };
    before = canonicalHash(rest);
    return { ...rest, hash: before };
  });
}

/** The signed part of a valid pack of one sealed case. */
export const parts = (): Members => ({
  case_id: 'case_1',
  subject_ref: 'subj_1',
  status: 'sealed',
  timeline: timeline(),
  decisions: [{ ...decision, decided_by: 'key_1' }],
  attachments,
  seals: [{ document, seal_hash: sealHash, ledger_record_id: 'ledger_rec_1', proof }],
  canonicalization: 'RFC8785',
});

/** The same, whose seal peers of a Fabric channel signed for. */
export function partsOnFabric(changes: Partial<ProofPlan> = {}): Members {
  const record = { id: 'ledger_rec_1', type: 'case.seal', data: document };
  const { receipt, proof: signed } = fabricProof({ record, ...changes });
  return edited(parts(), ['seals', 0, 'proof'], JSON.parse(JSON.stringify({ receipt, proof: signed })) as JsonValue);
}

/** A signed pack with any content. */
export function packOf(signed: Members): Members {
  const bytes = Buffer.from(canonical(signed));
  const hashes = { pack_hash: sha256(bytes).toString('hex'), signature: signer.sign(bytes) };
  return { ...signed, generated_at: AT, ...hashes };
}

/** A copy with the member at this path replaced. */
export function edited(pack: Members, path: readonly (string | number)[], value: JsonValue): Members {
  const copy = structuredClone(pack);
  let place = copy as Record<string | number, JsonValue>;
  for (const name of path.slice(0, -1)) place = place[name] as Record<string | number, JsonValue>;
  place[path.at(-1)!] = value;
  return copy;
}
