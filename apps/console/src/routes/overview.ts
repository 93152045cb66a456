import { AppError } from '@sealgate/errors';
import { closedObject, double, named, orNull, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { Measured } from '../data/prometheus.ts';
import { requireOwnOrigin } from '../domain/own-origin.ts';
import type { WaitingItem } from '../domain/listener-access.ts';
import type { Session } from '../domain/session.ts';
import type { SurfaceId } from '../domain/surfaces.ts';
import type { ConsoleCaller } from '../session-guard.ts';
import { SurfaceName } from './session.ts';

const route = routeFor<ConsoleCaller>();

const SurfaceStateView = named(
  'SurfaceState',
  closedObject({
    id: SurfaceName,
    ready: Type.Union([Type.Boolean(), Type.Null()], { description: 'null if the surface was unreachable.' }),
    checks: Type.Record(Type.String(), Type.Unknown(), { description: 'Further members of its readiness response.' }),
    requestsPerSecond: Type.Optional(double()),
    errorsPerSecond: Type.Optional(double({ description: 'Responses with status 5xx.' })),
    p95Seconds: Type.Optional(
      double({ description: '95 of 100 requests of the last five minutes were faster. With PROMETHEUS_URL.' }),
    ),
    gauges: Type.Record(Type.String(), double(), { description: 'Backlogs and halted work, by metric.' }),
  }),
);

const FiringAlert = named(
  'FiringAlert',
  closedObject({
    service: orNull(SurfaceName, { description: 'null: about what several surfaces share.' }),
    name: Type.String(),
    severity: Type.String(),
  }),
);
const WaitingItemView = named(
  'WaitingItem',
  closedObject({
    what: Type.String(),
    description: Type.String(),
    count: Type.Integer({ minimum: 0 }),
    oldestAt: orNull(Type.String()),
  }),
);
const WaitingAt = named(
  'WaitingAt',
  closedObject({
    id: SurfaceName,
    items: orNull(Type.Array(WaitingItemView), { description: 'null if its admin listener did not say.' }),
  }),
);

const Overview = named(
  'Overview',
  closedObject({
    surfaces: Type.Array(SurfaceStateView),
    waiting: Type.Array(WaitingAt, { description: 'The backlogs of these surfaces, from their admin listeners.' }),
    alerts: Type.Optional(
      Type.Array(FiringAlert, {
        description:
          'Of these surfaces and of what they share, at most 50. Absent without PROMETHEUS_URL, and while it cannot be asked.',
      }),
    ),
  }),
);

export interface OverviewPorts {
  readonly publicUrl: string;
  /** The surfaces that the person may see. @throws AppError FORBIDDEN, UNAVAILABLE, RATE_LIMITED, OVERLOADED */
  mayOverview(session: Session): Promise<ReadonlySet<SurfaceId>>;
  /** @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED */
  waitingAt(
    session: Session,
    shown: ReadonlySet<SurfaceId>,
  ): Promise<readonly { readonly id: SurfaceId; readonly items: readonly WaitingItem[] | undefined }[]>;
  /** The states of surfaces with an ops listener. Never rejects; has a deadline. */
  states(): Promise<readonly { readonly id: SurfaceId; readonly ready: boolean | undefined }[]>;
  /** What Prometheus says; absent: there is none. Never rejects; has a deadline. */
  readonly measured: (() => Promise<Measured | undefined>) | undefined;
}

/** The states of the surfaces, for people who may read their admin listeners. */
export function overviewRoutes({
  publicUrl,
  mayOverview,
  waitingAt,
  states,
  measured,
}: OverviewPorts): Route<ConsoleCaller>[] {
  return [
    route({
      method: 'get',
      path: '/overview',
      operationId: 'readOverview',
      summary: 'The state of each surface, from its ops listener, and its backlog',
      description:
        'Only surfaces whose admin listener the person may read; one that cannot be asked at the moment only if its last answer, up to ten minutes ago, was yes. Rates are those of Prometheus over five minutes where there is one, else over the time since the last overview, and absent on the first.',
      permit: 'authenticated',
      charge: 'none',
      idempotency: 'none',
      responses: { 200: { description: 'Without surfaces that have no ops URL.', schema: Overview } },
      errors: ['ORIGIN_NOT_ALLOWED', 'FORBIDDEN', 'OVERLOADED'],
      async handler(context) {
        requireOwnOrigin(context, publicUrl);
        const { session } = context.caller;
        // Keys are accepted on the door's path alone.
        if (session === undefined) throw new AppError('UNAUTHENTICATED', 'Not signed in.');
        const shown = await mayOverview(session);
        const [all, told, backlogs] = await Promise.all([states(), measured?.(), waitingAt(session, shown)]);
        const surfaces = all
          .filter(({ id }) => shown.has(id))
          .map(({ ready = null, ...state }) => ({ ...state, ...told?.rates.get(state.id), ready }));
        const alerts = told?.alerts.filter(({ service }) => service === null || shown.has(service));
        const waiting = backlogs.map(({ id, items = null }) => ({ id, items }));
        return { status: 200, body: { surfaces, waiting, ...(alerts !== undefined && { alerts }) } };
      },
    }),
  ];
}
