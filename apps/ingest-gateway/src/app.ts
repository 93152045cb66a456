import {
  adminApp,
  adminLedgerRoutes,
  adminRecordRoutes,
  adminStateRoutes,
  type AdminLedgerPorts,
  type AdminStatePorts,
  type AdminSignIn,
} from '@sealgate/admin-api';
import { createApp, type App, type AppBase } from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { mapRouteOutages } from '@sealgate/storage';
import type { EventTail } from './domain/event-tail.ts';
import type { IngestGuard } from './ingest-guard.ts';
import { adminDeliveryRoutes, type AdminDeliveriesPorts } from './routes/admin-deliveries.ts';
import { adminActivityRoutes, type AdminActivityPorts } from './routes/admin-activity.ts';
import { adminEventRoutes, type AdminEventsPorts } from './routes/admin-events.ts';
import { adminKeyRoutes, type AdminKeysPorts } from './routes/admin-keys.ts';
import { adminNetworkRoutes, type AdminNetworksPorts } from './routes/admin-networks.ts';
import { adminRefusedRoutes, type AdminRefusedPorts } from './routes/admin-refused.ts';
import { adminSourceRoutes, type AdminSourcesPorts } from './routes/admin-sources.ts';
import { hookRoutes, type HooksPorts } from './routes/hooks.ts';
import { ingestRoutes, type IngestPorts } from './routes/ingest.ts';

/**
 * The public listener. Order of checks for a write: path, method, key (`ingest-guard.ts`), network (`precheck` of
 * `routes/ingest.ts`), media type, size (libs/http), JSON, shape, permission (its handler), types, channels,
 * Idempotency-Key, limits, idempotency (`domain/answer-write.ts`), the write (`domain/write-records.ts`).
 * For a delivery to a source: path, method, source (the guard), size (libs/http), signature, media type, JSON, types
 * and channels of the source, limits, the write (`domain/take-delivery.ts`).
 */
export function publicApp(base: AppBase, guard: IngestGuard, ports: IngestPorts & HooksPorts): App {
  return createApp({ ...base, head: false, guard, routes: [...ingestRoutes(ports), ...hookRoutes(ports)] });
}

/** The admin listener. */
export function administration(
  base: AppBase,
  {
    addresses,
    isReachable,
    ...signIn
  }: AdminSignIn & {
    /** Counts failed authentications per client address, separately from the public listener. */
    readonly addresses: AddressLimiter;
    /** Whether the database answers now; bounded in time. */
    readonly isReachable: () => Promise<boolean>;
  },
  ports: AdminNetworksPorts &
    AdminKeysPorts &
    AdminEventsPorts &
    AdminActivityPorts &
    AdminSourcesPorts &
    AdminRefusedPorts &
    AdminDeliveriesPorts &
    AdminStatePorts &
    Pick<AdminLedgerPorts, 'cursors' | 'auditChange' | 'now' | 'newId'> & {
      /** Undefined on a Fabric ledger, which is not administered here: of its routes only those of single records are there. */
      readonly ledger: AdminLedgerPorts['ledger'] | undefined;
      readonly records: Parameters<typeof adminRecordRoutes>[0]['ledger'];
    },
): App {
  const { ledger, records, tail } = ports;
  const routes = [
    ...adminNetworkRoutes(ports),
    ...adminKeyRoutes(ports),
    ...adminEventRoutes(ports),
    ...adminActivityRoutes(ports),
    ...adminSourceRoutes(ports),
    ...adminRefusedRoutes(ports),
    ...adminDeliveryRoutes(ports),
    ...(ledger === undefined ? adminRecordRoutes({ ledger: records }) : adminLedgerRoutes({ ...ports, ledger })),
    ...adminStateRoutes(ports),
  ];
  const app = adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: mapRouteOutages(routes, { isReachable }),
  });
  return Object.assign(app, { drain: endingTails(app, tail) });
}

/** On drain, ends the event streams as well: they would otherwise stay open until the drain times out. */
function endingTails({ drain }: App, tail: EventTail): () => void {
  return () => {
    drain();
    tail.close();
  };
}
