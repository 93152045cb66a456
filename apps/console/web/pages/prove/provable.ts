import { quoted } from '../../shell/quoted.ts';
import type { LedgerSurface } from '../ledger/ledger-source.ts';
import type { Proven, RecordPlace, SealedCase } from './fetch-proof.ts';
import * as texts from './texts.ts';

/** Something with a proof, for whoever may read it. */
export interface Provable {
  readonly queryKey: readonly unknown[];
  /** What is proved, in words. */
  readonly title: string;
  /** Of the saved files, without an ending. */
  readonly name: string;
  /** Fetches the proof and checks it in this browser. Throws ProblemError. */
  readonly prove: (signal: AbortSignal) => Promise<Proven>;
}

/** Loaded on demand: pages with a button do not need what checks a proof. */
const fetching = () => import('./fetch-proof.ts');

export const provableRecord = (surface: LedgerSurface, place: RecordPlace): Provable => ({
  queryKey: ['proof', `/admin/${surface}/admin/v1/ledger`, place.channel, place.id, place.erased],
  title: texts.recordOf(place.id, place.channel),
  name: place.id.slice(0, 60),
  prove: async (signal) => (await fetching()).recordProof(surface, place, signal),
});

export const provableEvent = (eventId: string): Provable => ({
  queryKey: ['proof', '/admin/ingest-gateway/admin/v1/events', eventId],
  title: texts.event(eventId),
  name: eventId.slice(0, 60),
  prove: async (signal) => (await fetching()).eventProof(eventId, signal),
});

export const provableEvidence = (
  orgId: string,
  { id, title }: { readonly id: string; readonly title: string },
): Provable => ({
  queryKey: ['proof', '/api/risk-partner/api/evidence', orgId, id],
  title: texts.evidence(quoted(title)),
  name: id.slice(0, 60),
  prove: async (signal) => (await fetching()).evidenceProof(orgId, id, signal),
});

export const provableDecision = (decisionId: string): Provable => ({
  queryKey: ['proof', '/admin/case-gate/admin/v1/decisions', decisionId],
  title: texts.decisionOfTheGate(decisionId),
  name: decisionId.slice(0, 60),
  prove: async (signal) => (await fetching()).decisionProof(decisionId, signal),
});

/** `called`: how people know the case. */
export const provableCase = (sealed: SealedCase, called: string): Provable => ({
  title: texts.theCase(called),
  queryKey: ['proof', sealed.packPath, sealed.sealHash],
  name: sealed.caseId.slice(0, 60),
  prove: async (signal) => (await fetching()).caseProof(sealed, signal),
});
