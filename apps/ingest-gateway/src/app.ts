import {
  adminApp,
  adminLedgerRoutes,
  adminStateRoutes,
  createApp,
  type AdminLedgerPorts,
  type AdminStatePorts,
  type AdminSignIn,
  type App,
  type AppBase,
} from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { telling503 } from '@sealgate/storage';
import type { EventTail } from './domain/event-tail.ts';
import { ingestGuard, type IngestGuardPorts } from './ingest-guard.ts';
import { adminEventRoutes, type AdminEventsPorts } from './routes/admin-events.ts';
import { adminKeyRoutes, type AdminKeysPorts } from './routes/admin-keys.ts';
import { adminNetworkRoutes, type AdminNetworksPorts } from './routes/admin-networks.ts';
import { adminSourceRoutes, type AdminSourcesPorts } from './routes/admin-sources.ts';
import { hookRoutes, type HooksPorts } from './routes/hooks.ts';
import { ingestRoutes, type IngestPorts } from './routes/ingest.ts';

/** What both listeners share. */
/**
 * The public listener. Each request, in this order: path, method, key (by `ingest-guard.ts`), network (`precheck` of
 * `routes/ingest.ts`), media type, size (the library), JSON, shape, permission, types, channels (its handler),
 * Idempotency-Key, limits, idempotency (`domain/answer-write.ts`), the write (`domain/write-records.ts`).
 * A delivery to a source: path, method, source (the guard), size (the library), signature, media type, JSON, what the source
 * may write, limits, the write (`domain/take-delivery.ts`).
 */
export function publicApp(base: AppBase, guard: IngestGuardPorts, ports: IngestPorts & HooksPorts): App {
  const routes = [...ingestRoutes(ports), ...hookRoutes(ports)];
  return createApp({ ...base, head: false, guard: ingestGuard(guard), routes });
}

export type AdminPorts = AdminNetworksPorts &
  AdminKeysPorts &
  AdminEventsPorts &
  AdminSourcesPorts &
  AdminStatePorts &
  Pick<AdminLedgerPorts, 'cursors' | 'auditChange' | 'now' | 'newId'> & {
    /** Undefined where the ledger is not ours to administer: its paths are then not there. */
    readonly ledger: AdminLedgerPorts['ledger'] | undefined;
  };

export interface AdminAccess extends AdminSignIn {
  /** Counts failures per client address, apart from the public listener's. */
  readonly addresses: AddressLimiter;
  /** Whether the database answers now; bounded in time. */
  readonly isReachable: () => Promise<boolean>;
}

/** The admin listener. */
export function administration(
  base: AppBase,
  { addresses, isReachable, ...signIn }: AdminAccess,
  ports: AdminPorts,
): App {
  const { ledger, tail } = ports;
  const routes = [
    ...adminNetworkRoutes(ports),
    ...adminKeyRoutes(ports),
    ...adminEventRoutes(ports),
    ...adminSourceRoutes(ports),
    ...(ledger === undefined ? [] : adminLedgerRoutes({ ...ports, ledger })),
    ...adminStateRoutes(ports),
  ];
  const app = adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: telling503(routes, { isReachable }),
  });
  return Object.assign(app, { drain: endingTails(app, tail) });
}

/** An answer that goes on must not hold up whoever waits for the last one to end. */
function endingTails({ drain }: App, tail: EventTail): () => void {
  return () => {
    drain();
    tail.close();
  };
}
