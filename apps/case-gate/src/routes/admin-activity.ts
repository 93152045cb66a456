import { adminBase, adminRoute, CASES, type AdminCaller } from '@sealgate/admin-api';
import { named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { DecisionsStore } from '../data/decisions-store.ts';
import { OrNull, Text, Time } from '../schemas.ts';
import { environmentOf, environmentQuery } from './admin-base.ts';

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
const MOST_VENUES = 50;

const Count = Type.Integer({ minimum: 0 });
const outcomes = { allow: Count, deny: Count };

const ActivityView = named(
  'GateActivity',
  Type.Object({
    from: Type.Unsafe<string>({ ...Time, description: 'The beginning of the first hour.' }),
    hours: Type.Array(named('GateHour', Type.Object({ at: Time, ...outcomes })), {
      description: 'Decisions by hour (UTC), oldest first, without hours that had none.',
    }),
    venues: Type.Array(named('GateVenueActivity', Type.Object({ venue_id: OrNull(Text), ...outcomes })), {
      description: `Decisions by venue since the day of \`from\` began (UTC); the ${MOST_VENUES} with most. null: venues that do not exist.`,
    }),
  }),
);

const query = Type.Object(
  {
    ...environmentQuery,
    hours: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        pattern: '^([1-9]|[1-9][0-9]|1[0-5][0-9]|16[0-8])$',
        description: `Hours back, 1 to 168; by default ${DEFAULT_HOURS}.`,
        examples: ['24'],
      }),
    ),
  },
  { additionalProperties: false },
);

export interface AdminActivityPorts {
  readonly decisions: Pick<DecisionsStore, 'activity'>;
  readonly now: () => number;
}

/** How much the gate decided lately, from kept counts. */
export function adminActivityRoutes({ decisions, now }: AdminActivityPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      ...adminBase,
      permit: CASES.read,
      method: 'get',
      path: '/admin/v1/activity',
      operationId: 'getGateActivity',
      summary: 'Count gate decisions by outcome: by hour, and by venue',
      query,
      responses: { 200: { description: 'The counts.', schema: ActivityView } },
      errors: [],
      async handler({ query: asked }) {
        const hours = Number(asked.hours ?? DEFAULT_HOURS);
        const sinceMs = Math.floor(now() / HOUR_MS - hours + 1) * HOUR_MS;
        const since = new Date(sinceMs);
        const found = await decisions.activity({ environment: environmentOf({}, asked), since, venues: MOST_VENUES });
        const body: Static<typeof ActivityView> = {
          from: since.toISOString(),
          hours: found.hours.map(({ at, allow, deny }) => ({ at: at.toISOString(), allow, deny })),
          venues: found.venues.map(({ venue_id, allow, deny }) => ({ venue_id, allow, deny })),
        };
        return { status: 200, body };
      },
    }),
  ];
}
