import { caseGateAdmin, ingestGatewayAdmin, ledgerPeerAdmin, riskPartner } from '@sealgate/client';
import { consoleFetch } from './console-fetch.ts';

// A page says what was refused and lets people send it again themselves.
const retry = false;

// Each by the console's server, which adds the token of whoever is signed in; no key is ever held here.
export const riskApi = riskPartner({ baseUrl: '/api/risk-partner', fetch: consoleFetch, retry });
export const caseAdmin = caseGateAdmin({ baseUrl: '/admin/case-gate', fetch: consoleFetch, retry });
export const ledgerAdmin = ledgerPeerAdmin({ baseUrl: '/admin/ledger-peer', fetch: consoleFetch, retry });
export const ingestAdmin = ingestGatewayAdmin({ baseUrl: '/admin/ingest-gateway', fetch: consoleFetch, retry });
