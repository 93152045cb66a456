import { adminBase, adminRoute, type AdminCaller } from '@sealgate/admin-api';
import { named, type Route } from '@sealgate/http';
import { COUNT_LIMIT } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { ActivityStore } from '../data/activity-store.ts';
import { Text, Time } from '../schemas.ts';

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
/** An hour has at most this many writes in an answer. */
const MOST_WRITES = COUNT_LIMIT - 1;

const Count = Type.Integer({ minimum: 0 });

const ActivityView = named(
  'IngestActivity',
  Type.Object({
    from: Type.Unsafe<string>({ ...Time, description: 'The beginning of the first hour.' }),
    hours: Type.Array(
      named(
        'IngestHour',
        Type.Object({
          at: Time,
          writes: Type.Integer({
            minimum: 0,
            maximum: MOST_WRITES,
            description: `Committed writes whose event id is of this hour (UTC); exact up to ${MOST_WRITES}.`,
          }),
          isMore: Type.Boolean({ description: `There were more than ${MOST_WRITES}.` }),
        }),
      ),
      { description: 'Every hour, oldest first.' },
    ),
    refusals: Type.Array(named('RefusalHour', Type.Object({ at: Time, reason: Text, deliveries: Count })), {
      description: 'Refused deliveries of all sources by hour and reason, oldest first.',
    }),
    refusalsAreMore: Type.Boolean({
      description: 'Sources counted so many refusals that the oldest of the period are left out.',
    }),
  }),
);

const query = Type.Object(
  {
    hours: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        pattern: '^([1-9]|1[0-9]|2[0-4])$',
        description: `Hours back, 1 to 24; by default ${DEFAULT_HOURS}.`,
        examples: ['24'],
      }),
    ),
  },
  { additionalProperties: false },
);

export interface AdminActivityPorts {
  readonly activityByHour: ActivityStore;
  readonly now: () => number;
}

/** How much was written and refused lately. */
export function adminActivityRoutes({ activityByHour, now }: AdminActivityPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      ...adminBase,
      method: 'get',
      path: '/admin/v1/activity',
      operationId: 'getIngestActivity',
      summary: 'Count writes, and refused deliveries by reason, by hour',
      query,
      responses: { 200: { description: 'The counts.', schema: ActivityView } },
      errors: [],
      async handler({ query: asked }) {
        const hours = Number(asked.hours ?? DEFAULT_HOURS);
        const since = new Date(Math.floor(now() / HOUR_MS - hours + 1) * HOUR_MS);
        const found = await activityByHour.read(since, hours);
        const body: Static<typeof ActivityView> = {
          from: since.toISOString(),
          hours: found.hours.map(({ at, writes }) => ({
            at: at.toISOString(),
            writes: Math.min(writes, MOST_WRITES),
            isMore: writes > MOST_WRITES,
          })),
          refusals: found.refusals.map(({ at, ...row }) => ({ at: at.toISOString(), ...row })),
          refusalsAreMore: found.isCut,
        };
        return { status: 200, body };
      },
    }),
  ];
}
