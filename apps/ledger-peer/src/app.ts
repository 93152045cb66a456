import {
  adminApp,
  adminLedgerRoutes,
  adminStateRoutes,
  type AdminLedgerPorts,
  type AdminStatePorts,
  type AdminSignIn,
} from '@sealgate/admin-api';
import { createApp, type App, type AppBase, type AppOptions, type Route } from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { forClients, mapRouteOutages } from '@sealgate/storage';
import type { PeerCaller } from './domain/caller.ts';
import type { ChannelTrustPorts } from './domain/channel-trust.ts';
import type { ReadTransactionPorts } from './domain/read-transaction.ts';
import { peerGuard, type PeerGuardPorts } from './peer-guard.ts';
import { adminFabricRoutes, type AdminFabricPorts } from './routes/admin-fabric.ts';
import { adminMappingRoutes, type AdminMappingPorts } from './routes/admin-mapping.ts';
import { adminSubscriptionRoutes, type AdminSubscriptionsPorts } from './routes/admin-subscriptions.ts';
import { adminTrustRoutes } from './routes/admin-trust.ts';
import { assetRoutes, type AssetsPorts } from './routes/assets.ts';
import { descriptionRoutes, type DescriptionsPorts } from './routes/descriptions.ts';
import { eventRoutes, type EventsPorts } from './routes/events.ts';
import { healthRoutes, type HealthPorts } from './routes/health.ts';
import { jobRoutes } from './routes/jobs.ts';
import { logSearchRoutes } from './routes/log-search.ts';
import { publicLogRoutes } from './routes/public-log.ts';
import { transactionRoutes } from './routes/transactions.ts';

/** Ports of the public routes. */
export interface PublicPorts {
  readonly assets: AssetsPorts;
  readonly transactions: ReadTransactionPorts;
  readonly jobs: Parameters<typeof jobRoutes>[0];
  readonly events: EventsPorts;
  readonly publicLog: Parameters<typeof publicLogRoutes>[0] & Parameters<typeof logSearchRoutes>[0];
  readonly health: HealthPorts;
  readonly descriptions: DescriptionsPorts;
}

/** Every route of the public listener. */
export function publicRoutes(ports: PublicPorts): Route<PeerCaller>[] {
  return [
    ...assetRoutes(ports.assets),
    ...transactionRoutes(ports.transactions),
    ...jobRoutes(ports.jobs),
    ...eventRoutes(ports.events),
    ...publicLogRoutes(ports.publicLog),
    ...logSearchRoutes(ports.publicLog),
    ...healthRoutes(ports.health),
    ...descriptionRoutes(ports.descriptions),
  ];
}

/**
 * The public listener. Each request, in this order: path, method, key and limits (by `peer-guard.ts`), media type, size,
 * JSON, number of assets (`routes/assets.ts`), shape (the library), idempotency, mapping, the write
 * (`domain/answer-sync.ts`).
 */
export function publicApp(
  base: AppBase & Pick<AppOptions<PeerCaller>, 'bodyTurns'>,
  guard: PeerGuardPorts,
  ports: PublicPorts,
): App {
  const app = createApp({
    ...base,
    head: true,
    compress: true,
    guard: peerGuard(guard),
    routes: forClients(publicRoutes(ports)),
  });
  const { drain: drainApp } = app;
  // Streams of events would otherwise stay open until the drain times out.
  const drain = (): void => {
    drainApp();
    ports.events.streams.close();
  };
  return Object.assign(app, { drain });
}

interface AdminAccess extends AdminSignIn {
  /** Counts failures per client address, apart from the public listener's. */
  readonly addresses: AddressLimiter;
}

/**
 * The admin listener. `ledger` undefined: the ledger is administered elsewhere, and its paths do not exist here; likewise
 * `mapping` and `trust` on a ledger without contracts.
 */
export function administration(
  base: AppBase,
  { addresses, ...signIn }: AdminAccess,
  {
    ledger,
    mapping,
    trust,
    fabric,
    subscriptions,
    ...ports
  }: AdminStatePorts & {
    readonly ledger: AdminLedgerPorts | undefined;
    readonly mapping: AdminMappingPorts | undefined;
    readonly trust: ChannelTrustPorts | undefined;
    readonly fabric: AdminFabricPorts;
    readonly subscriptions: AdminSubscriptionsPorts;
  },
): App {
  return adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: [
      ...(ledger === undefined ? [] : forClients(adminLedgerRoutes(ledger))),
      ...(mapping === undefined ? [] : adminMappingRoutes(mapping)),
      ...(trust === undefined ? [] : adminTrustRoutes(trust)),
      ...forClients(adminFabricRoutes(fabric)),
      ...mapRouteOutages(adminSubscriptionRoutes(subscriptions)),
      ...mapRouteOutages(adminStateRoutes(ports)),
    ],
  });
}
