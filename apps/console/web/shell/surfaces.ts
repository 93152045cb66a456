import { caseGateAdmin, ingestGatewayAdmin, ledgerPeerAdmin, riskPartner } from '@sealgate/client';
import { consoleFetch } from './console-fetch.ts';

// No automatic retry: a page shows the error and people retry themselves.
const retry = false;

// All through the console's server, which adds the token of the signed-in person; pages never hold a token.
export const riskApi = riskPartner({ baseUrl: '/api/risk-partner', fetch: consoleFetch, retry });
export const caseAdmin = caseGateAdmin({ baseUrl: '/admin/case-gate', fetch: consoleFetch, retry });
export const ledgerAdmin = ledgerPeerAdmin({ baseUrl: '/admin/ledger-peer', fetch: consoleFetch, retry });
export const ingestAdmin = ingestGatewayAdmin({ baseUrl: '/admin/ingest-gateway', fetch: consoleFetch, retry });
