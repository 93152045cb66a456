import type { LedgerSurface } from '../ledger/ledger-source.ts';
import type { Proven, RecordPlace, SealedCase } from './fetch-proof.ts';

/** Something with a proof, for whoever may read it. */
export interface Provable {
  readonly queryKey: readonly unknown[];
  /** Of the saved files, without an ending. */
  readonly name: string;
  /** Fetches the proof and checks it in this browser. Throws ProblemError. */
  readonly prove: (signal: AbortSignal) => Promise<Proven>;
}

/** Loaded on demand: pages with a button do not need what checks a proof. */
const fetching = () => import('./fetch-proof.ts');

export const provableRecord = (surface: LedgerSurface, place: RecordPlace): Provable => ({
  queryKey: ['proof', `/admin/${surface}/admin/v1/ledger`, place.channel, place.id, place.erased],
  name: place.id.slice(0, 60),
  prove: async (signal) => (await fetching()).recordProof(surface, place, signal),
});

export const provableEvent = (eventId: string): Provable => ({
  queryKey: ['proof', '/admin/ingest-gateway/admin/v1/events', eventId],
  name: eventId.slice(0, 60),
  prove: async (signal) => (await fetching()).eventProof(eventId, signal),
});

export const provableEvidence = (orgId: string, id: string): Provable => ({
  queryKey: ['proof', '/api/risk-partner/api/evidence', orgId, id],
  name: id.slice(0, 60),
  prove: async (signal) => (await fetching()).evidenceProof(orgId, id, signal),
});

export const provableDecision = (decisionId: string): Provable => ({
  queryKey: ['proof', '/admin/case-gate/admin/v1/decisions', decisionId],
  name: decisionId.slice(0, 60),
  prove: async (signal) => (await fetching()).decisionProof(decisionId, signal),
});

export const provableCase = (sealed: SealedCase): Provable => ({
  queryKey: ['proof', sealed.packPath, sealed.sealHash],
  name: sealed.caseId.slice(0, 60),
  prove: async (signal) => (await fetching()).caseProof(sealed, signal),
});
