import type { SurfaceId } from './session.ts';

/** The display names of the surfaces, and the part of the console for each. */
export const surfaceNames: Readonly<
  Record<SurfaceId, { readonly title: string; readonly does: string; readonly part: string }>
> = {
  'risk-partner': { title: 'Risk partner', does: 'Risks, controls and evidence', part: '/risks' },
  'case-gate': { title: 'Case gate', does: 'Cases, eligibility and the door', part: '/cases' },
  'ledger-peer': { title: 'Ledger peer', does: 'Assets and the public log', part: '/ledger?by=ledger-peer' },
  'ingest-gateway': { title: 'Ingest gateway', does: 'JSON in, ledger records out', part: '/events' },
};
