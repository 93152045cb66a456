import type { Jwks } from '@sealgate/envelope';
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
import { repeatableRoutes } from './generated/repeatable-routes.ts';
import { type LargeIntegers, withExactNumbers } from './exact-numbers.ts';
import { withProblem } from './problem.ts';
import { provedEnvelope } from './proved.ts';
import { KEY_HEADER, retryingFetch, type RetryPolicy } from './retrying.ts';

/** The named schemas of each listener's OpenAPI document: `Schemas['riskPartner']['Risk']`. */
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

/** The routes of each listener by path, for a client of several of them: `Routes['riskPartner']['/api/risks']`. */
export interface Routes {
  readonly riskPartner: RiskPartnerPaths;
  readonly caseGate: CaseGatePaths;
  readonly caseGateAdmin: CaseGateAdminPaths;
  readonly ledgerPeer: LedgerPeerPaths;
  readonly ledgerPeerAdmin: LedgerPeerAdminPaths;
  readonly ingestGatewayAdmin: IngestGatewayAdminPaths;
  readonly riskPartnerAdmin: RiskPartnerAdminPaths;
  readonly consoleServer: ConsolePaths;
}

export interface ClientOptions {
  /** Base URL of the listener, without trailing slash; paths of its OpenAPI document are appended. */
  readonly baseUrl: string;
  /** Default: the platform's `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Headers of every call, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Retries, see RetryPolicy; `false` sends each call once, without a generated key or timeout. */
  readonly retry?: RetryPolicy | false;
  /** Default `refuse`. */
  readonly largeIntegers?: LargeIntegers;
}

const refusals: Middleware = {
  onResponse: ({ response }) => (response.ok || response.status === 304 ? undefined : withProblem(response)),
};

/** Numbers of JSON answers are exact, or the call throws. */
const exactNumbers = (largeIntegers: LargeIntegers): Middleware => ({
  onResponse({ response, options }) {
    const isJson = /^application\/(?:[^;]+\+)?json\b/.test(response.headers.get('content-type') ?? '');
    return response.ok && isJson && options.parseAs === 'json' ? withExactNumbers(response, largeIntegers) : undefined;
  },
});

/** Routes (`METHOD /path`) that are retryable despite their method: with an idempotency key, or as they are. */
interface RepeatableRoutes {
  readonly keyed: readonly string[];
  readonly safe: readonly string[];
}

/** Idempotent methods (RFC 9110 section 9.2.2). */
const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE'];

/**
 * A client of listeners behind one address; `Paths` is what is below `baseUrl`. It sends each call once, without a
 * generated key or timeout. A call resolves to `{ data, response }`, or `{ error, response }` with the problem. It
 * throws the error of `fetch` if there was no answer.
 */
export function plainClient<Paths extends object>(options: Omit<ClientOptions, 'retry'>): Client<Paths> {
  const { baseUrl, fetch: send = (request: Request) => fetch(request), headers, largeIntegers = 'refuse' } = options;
  const client = createClient<Paths>({ baseUrl, fetch: send, ...(headers && { headers }) });
  client.use(refusals, exactNumbers(largeIntegers));
  return client;
}

/**
 * See `plainClient`; with retries. It throws NoAnswerError if there was no answer: the outcome of a change is then
 * unknown.
 *
 * @param listener The name of its types file.
 */
function clientOf<Paths extends object>(
  listener: keyof typeof repeatableRoutes,
  options: ClientOptions,
): Client<Paths> {
  const { fetch: send = (request: Request) => fetch(request), retry = {}, ...rest } = options;
  if (retry === false) return plainClient<Paths>({ ...rest, fetch: send });
  const { keyed, safe }: RepeatableRoutes = repeatableRoutes[listener];
  const repeatable = new WeakSet<Request>();
  const client = plainClient<Paths>({
    ...rest,
    fetch: retryingFetch(send, (request) => repeatable.has(request), retry),
  });
  client.use({
    onRequest({ request, schemaPath }) {
      const route = `${request.method} ${schemaPath}`;
      const takesKey = keyed.includes(route);
      // One key for all attempts, so that a change whose answer was lost is replayed, not repeated.
      if (takesKey && !request.headers.has(KEY_HEADER)) request.headers.set(KEY_HEADER, crypto.randomUUID());
      if (takesKey || safe.includes(route) || IDEMPOTENT.includes(request.method)) repeatable.add(request);
    },
  });
  return client;
}

/** The public listener of the risk partner. */
export const riskPartner = (options: ClientOptions): Client<RiskPartnerPaths> => clientOf('risk-partner', options);

/** Unsigned paths below `/api/v1`. */
const UNSIGNED = ['/api/v1/whoami', '/api/v1/openapi.json', '/api/v1/docs'];

/**
 * The same client for partners. A call below `/api/v1` throws UnprovedError unless a pinned key has signed the
 * envelope, before anything of it is returned.
 */
export function provedRiskPartner({
  pinned,
  ...options
}: ClientOptions & { readonly pinned: Jwks }): Client<RiskPartnerPaths> {
  const client = riskPartner(options);
  client.use({
    async onResponse({ response, schemaPath }) {
      if (response.status !== 200 || !schemaPath.startsWith('/api/v1/') || UNSIGNED.includes(schemaPath)) return;
      await provedEnvelope(await response.clone().text(), response.headers.get('evidence-signature'), pinned);
    },
  });
  return client;
}

/** The admin listener of the risk partner. */
export const riskPartnerAdmin = (options: ClientOptions): Client<RiskPartnerAdminPaths> =>
  clientOf('risk-partner-admin', options);

/** The public listener of the case gate. */
export const caseGate = (options: ClientOptions): Client<CaseGatePaths> => clientOf('case-gate', options);

/** The admin listener of the case gate. */
export const caseGateAdmin = (options: ClientOptions): Client<CaseGateAdminPaths> =>
  clientOf('case-gate-admin', options);

/** The public listener of the ledger peer. */
export const ledgerPeer = (options: ClientOptions): Client<LedgerPeerPaths> => clientOf('ledger-peer', options);

/** The admin listener of the ledger peer. */
export const ledgerPeerAdmin = (options: ClientOptions): Client<LedgerPeerAdminPaths> =>
  clientOf('ledger-peer-admin', options);

/** The public listener of the ingest gateway. */
export const ingestGateway = (options: ClientOptions): Client<IngestGatewayPaths> =>
  clientOf('ingest-gateway', options);

/** The admin listener of the ingest gateway. */
export const ingestGatewayAdmin = (options: ClientOptions): Client<IngestGatewayAdminPaths> =>
  clientOf('ingest-gateway-admin', options);

/** The console's own server. */
export const consoleServer = (options: ClientOptions): Client<ConsolePaths> => clientOf('console', options);
