import type { SurfaceId } from './session.ts';
import * as texts from './texts.ts';

/** The display names of the surfaces, and the part of the console for each. */
export const surfaceNames: Readonly<
  Record<SurfaceId, { readonly title: string; readonly does: string; readonly part: string }>
> = {
  'risk-partner': { title: texts.riskPartner, does: texts.risksControlsAndEvidence, part: '/risks' },
  'case-gate': { title: texts.caseGate, does: texts.casesEligibilityAndTheDoor, part: '/cases' },
  'ledger-peer': { title: texts.ledgerPeer, does: texts.assetsAndThePublicLog, part: '/ledger?by=ledger-peer' },
  'ingest-gateway': { title: texts.ingestGateway, does: texts.jsonInLedgerRecordsOut, part: '/events' },
};
