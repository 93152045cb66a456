import { caseGateAdmin, ingestGatewayAdmin, ledgerPeerAdmin, riskPartner } from '@sealgate/client';
import { consoleFetch } from './console-fetch.ts';
import type { SurfaceId } from './session.ts';

// No automatic retry: a page shows the error and people retry themselves.
const retry = false;

// All through the console's server, which adds the token of the signed-in person; pages never hold a token.
export const riskApi = riskPartner({ baseUrl: '/api/risk-partner', fetch: consoleFetch, retry });
export const caseAdmin = caseGateAdmin({ baseUrl: '/admin/case-gate', fetch: consoleFetch, retry });
export const ledgerAdmin = ledgerPeerAdmin({ baseUrl: '/admin/ledger-peer', fetch: consoleFetch, retry });
export const ingestAdmin = ingestGatewayAdmin({ baseUrl: '/admin/ingest-gateway', fetch: consoleFetch, retry });

/** The display names of the surfaces, and the part of the console for each. */
export const surfaceNames: Readonly<
  Record<SurfaceId, { readonly title: string; readonly does: string; readonly part: string }>
> = {
  'risk-partner': { title: 'Risk partner', does: 'Risks, controls and evidence', part: '/risks' },
  'case-gate': { title: 'Case gate', does: 'Cases, eligibility and the door', part: '/cases' },
  'ledger-peer': { title: 'Ledger peer', does: 'Assets and the public log', part: '/ledger?by=ledger-peer' },
  'ingest-gateway': { title: 'Ingest gateway', does: 'JSON in, ledger records out', part: '/events' },
};
