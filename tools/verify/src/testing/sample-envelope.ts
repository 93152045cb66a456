import {
  documentSigner,
  generateDocumentKey,
  jwksOf,
  sealPartnerEnvelope,
  type PartnerEnvelope,
} from '@sealgate/envelope';
import { canonical, type JsonValue } from '@sealgate/json';
import { checkpointText, generateNoteKey, leafHash, nodeHash, noteSigner } from '@sealgate/merkle';
import { fabricProof } from './fabric-proofs.ts';

const signer = documentSigner(generateDocumentKey());
export const jwks = jwksOf([signer.jwk]);
/** The key of the log of the proof. */
export const log = generateNoteKey('ledger.test');

// A tree of two leaves, by hand.
export const [left, right] = [leafHash(Buffer.from('left')), leafHash(Buffer.from('right'))];
export const checkpoint = noteSigner(log.privateKey).sign(
  checkpointText({ origin: 'ledger.test/risk.evidence', size: 2, root: nodeHash(left, right) }),
);
export const proof = {
  id: 'prf_1',
  subjectType: 'evidence',
  subjectId: 'evd_1',
  sha256: 'ab'.repeat(32),
  channel: 'risk.evidence',
  index: 1,
  leafHash: right.toString('hex'),
  treeSize: 2,
  inclusionPath: [left.toString('hex')],
  checkpoint,
};

/** An item of `/api/v1/proofs` on Fabric. */
export function provedByPeers(): { readonly [member: string]: JsonValue } {
  const data = { evidenceId: 'evd_1', sha256: 'ab'.repeat(32), version: 1 };
  const { receipt, proof: signed } = fabricProof({ record: { id: 'rec_1', type: 'evidence', data } });
  const ofLog = { index: null, leafHash: null, treeSize: null, inclusionPath: null, checkpoint: null };
  const place = { ledgerRecordId: 'rec_1', channel: 'acme.main', sealedAt: receipt['at'] };
  return JSON.parse(JSON.stringify({ ...proof, ...ofLog, ...place, receipt, proof: signed })) as {
    readonly [member: string]: JsonValue;
  };
}

/** A signed envelope of these items. */
export function sealed(items: readonly JsonValue[]): { envelope: PartnerEnvelope; jws: string; text: string } {
  const pagination = { limit: 50, count: items.length, nextCursor: null };
  const { bytes, hashedBytes } = sealPartnerEnvelope({
    orgId: 'org_1',
    generatedAt: '2026-01-01T00:00:00.000Z',
    content: { items: items.map(canonical), pagination },
  });
  const text = bytes.toString();
  return { envelope: JSON.parse(text) as PartnerEnvelope, jws: signer.sign(hashedBytes), text };
}
