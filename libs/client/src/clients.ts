import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type {
  components as CaseGateAdminComponents,
  paths as CaseGateAdminPaths,
} from './generated/case-gate-admin.ts';
import type { components as CaseGateComponents, paths as CaseGatePaths } from './generated/case-gate.ts';
import type { components as ConsoleComponents, paths as ConsolePaths } from './generated/console.ts';
import type {
  components as IngestGatewayAdminComponents,
  paths as IngestGatewayAdminPaths,
} from './generated/ingest-gateway-admin.ts';
import type { components as IngestGatewayComponents, paths as IngestGatewayPaths } from './generated/ingest-gateway.ts';
import type {
  components as LedgerPeerAdminComponents,
  paths as LedgerPeerAdminPaths,
} from './generated/ledger-peer-admin.ts';
import type { components as LedgerPeerComponents, paths as LedgerPeerPaths } from './generated/ledger-peer.ts';
import type {
  components as RiskPartnerAdminComponents,
  paths as RiskPartnerAdminPaths,
} from './generated/risk-partner-admin.ts';
import type { components as RiskPartnerComponents, paths as RiskPartnerPaths } from './generated/risk-partner.ts';
import { withProblem } from './problem.ts';

/** The named schemas of each listener, as its OpenAPI document has them: `Schemas['riskPartner']['Risk']`. */
export interface Schemas {
  readonly riskPartner: RiskPartnerComponents['schemas'];
  readonly riskPartnerAdmin: RiskPartnerAdminComponents['schemas'];
  readonly caseGate: CaseGateComponents['schemas'];
  readonly caseGateAdmin: CaseGateAdminComponents['schemas'];
  readonly ledgerPeer: LedgerPeerComponents['schemas'];
  readonly ledgerPeerAdmin: LedgerPeerAdminComponents['schemas'];
  readonly ingestGateway: IngestGatewayComponents['schemas'];
  readonly ingestGatewayAdmin: IngestGatewayAdminComponents['schemas'];
  readonly consoleServer: ConsoleComponents['schemas'];
}

export interface ClientOptions {
  /** Where the listener is reached, without trailing slash; the paths of its OpenAPI document are appended. */
  readonly baseUrl: string;
  /** Default: the `fetch` of the platform. It bounds how long a call takes: pass a signal, here or with each call. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Sent with every call: a key, for instance. */
  readonly headers?: Readonly<Record<string, string>>;
}

const refusals: Middleware = {
  onResponse: ({ response }) => (response.ok || response.status === 304 ? undefined : withProblem(response)),
};

/**
 * A call gives `{ data, response }`, or `{ error, response }` with the problem that refused it. It throws what `fetch`
 * throws where no answer came: what became of a change is not known then.
 */
function clientOf<Paths extends object>({ baseUrl, fetch, headers }: ClientOptions): Client<Paths> {
  const client = createClient<Paths>({ baseUrl, ...(fetch && { fetch }), ...(headers && { headers }) });
  client.use(refusals);
  return client;
}

/** The public listener of the risk partner. */
export const riskPartner = (options: ClientOptions): Client<RiskPartnerPaths> => clientOf(options);

/** The admin listener of the risk partner. */
export const riskPartnerAdmin = (options: ClientOptions): Client<RiskPartnerAdminPaths> => clientOf(options);

/** The public listener of the case gate. */
export const caseGate = (options: ClientOptions): Client<CaseGatePaths> => clientOf(options);

/** The admin listener of the case gate. */
export const caseGateAdmin = (options: ClientOptions): Client<CaseGateAdminPaths> => clientOf(options);

/** The public listener of the ledger peer. */
export const ledgerPeer = (options: ClientOptions): Client<LedgerPeerPaths> => clientOf(options);

/** The admin listener of the ledger peer. */
export const ledgerPeerAdmin = (options: ClientOptions): Client<LedgerPeerAdminPaths> => clientOf(options);

/** The public listener of the ingest gateway. */
export const ingestGateway = (options: ClientOptions): Client<IngestGatewayPaths> => clientOf(options);

/** The admin listener of the ingest gateway. */
export const ingestGatewayAdmin = (options: ClientOptions): Client<IngestGatewayAdminPaths> => clientOf(options);

/** The few routes of the console's own server. */
export const consoleServer = (options: ClientOptions): Client<ConsolePaths> => clientOf(options);
