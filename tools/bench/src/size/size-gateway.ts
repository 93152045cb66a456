import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { lookingPaths } from '@sealgate/local-services';
import { batchBody, batchRecords, recordBody } from '../bodies.ts';
import { askAdmin, untilSigned, type Sender } from '../surfaces/admin.ts';
import { prepareSite } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { THROUGH_DOORS } from './amounts.ts';
import { exportWorks } from './export-works.ts';
import { fillGateway, KEPT_DAYS, LARGE, OLD_DAYS, OLD_EVENTS, singlesOf, YOUNG_DAYS } from './fill-gateway.ts';
import { look, type Looker } from './look-load.ts';
import { removalMs } from './removal-ms.ts';
import type { Asking, FillAt, FilledSurface, SizedSurface, SizedWork } from './sized-surface.ts';

export const sizedGateway: SizedSurface = {
  surface: 'ingest-gateway',
  prepare: (context, { name, stack }) => prepareSite(context, { name, stack, redis: false }),
  fill: async (at) => filledGateway(at, await fillGateway(at)),
};

function filledGateway(at: FillAt, senders: readonly Sender[]): FilledSurface {
  const { amounts, context } = at;
  const large = senders[0]!;
  const ledger = `/admin/v1/ledger/channels/${large.channel}`;
  const half = amounts.records / 2;
  return {
    weights: [
      { what: 'record', rows: amounts.records, tables: ['ledger.records', 'ledger.ids', 'ledger.tiles'] },
      { what: 'event', rows: amounts.events, tables: ['ingest.writes', 'ingest.events'] },
      { what: 'claim', rows: claimsOf(amounts.records), tables: ['ledger.claims'] },
      { what: 'key', rows: amounts.keys, tables: ['ingest.api_keys'] },
    ],
    async faults(surface) {
      const wrong: string[] = [];
      for (const { channel } of senders) {
        await untilSigned(surface, channel);
        const path = `/ledger/channels/${channel}/audit`;
        const text = await askAdmin(surface, { method: 'POST', path, expect: 200 });
        if (!text.includes('"ok":true')) wrong.push(`The audit of ${channel} says ${text.slice(0, 200)}.`);
      }
      return wrong;
    },
    async loads(surface) {
      const sender = { ...large, port: surface.port };
      const page = (what: string, path: string) => look(operatorOf(surface), `page of 100 ${what}`, { paths: [path] });
      const ids = await randomIds(at, large.channel, 500);
      const ago = (days: number): string =>
        new Date(Date.parse(context.machine.date) - days * 86_400_000).toISOString();
      const events = `/admin/v1/events?networkId=${LARGE}&limit=100`;
      return [
        {
          what: 'write of a record',
          ...{ unit: 'us of CPU', target: 'sizeRatio', requests: 2_000 },
          load: { destinations: [sender], body: recordBody() },
        },
        {
          what: 'write of a batch of 100',
          ...{ unit: 'us of CPU', target: 'sizeRatio', requests: 200 },
          load: { destinations: [sender], body: batchBody(batchRecords) },
        },
        look(operatorOf(surface), 'proof of a record', {
          paths: ids.map((id) => `${ledger}/records/${encodeURIComponent(id)}/proof`),
        }),
        page('records, first', `${ledger}/records?limit=100`),
        page('records, middle', `${ledger}/records?limit=100&below=${half / 2}`),
        page('records, last', `${ledger}/records?limit=100&below=100`),
        page('events, first', events),
        page('events, middle', `${events}&to=${ago(YOUNG_DAYS / 2)}`),
        page('events, last', `${events}&to=${ago(OLD_DAYS - 0.5)}`),
        look(operatorOf(surface), 'event by its record', {
          paths: ids.map((id) => `/admin/v1/events?recordId=${encodeURIComponent(id)}`),
          ...{ requests: 20, target: 'sizeAnswer' },
        }),
        // There are not a hundred networks at the demo's size.
        look(operatorOf(surface), 'page of 100 networks by name', {
          paths: ['/admin/v1/networks?limit=100&sort=name'],
          target: 'sizeAnswer',
        }),
      ];
    },
    works: (surface) => worksOf(at, large, surface),
    lists: (surface): Asking[] => [
      {
        who: 'operator',
        origin: surface.adminUrl,
        headers: { authorization: `Bearer ${surface.adminToken}` },
        paths: lookingPaths(join(workspaceRoot, 'apps/ingest-gateway/admin-openapi.json'), {
          ...{ networkId: LARGE, channel: large.channel, type: 'invoice.paid', q: 'company' },
        }),
      },
    ],
  };
}

const claimsOf = (records: number): number => singlesOf(records) + (records - singlesOf(records)) / batchRecords;

const operatorOf = ({ adminUrl, adminToken }: Surface): Looker => ({ origin: adminUrl, token: adminToken });

function worksOf(at: FillAt, large: Sender, surface: Surface): SizedWork[] {
  const { context, amounts } = at;
  const path = `/ledger/channels/${large.channel}/audit`;
  return [
    {
      what: 'audit of a channel',
      ...{ unit: 'us a record', target: 'sizeRatio' },
      async run() {
        const startedAt = performance.now();
        const { size }: { size: number } = JSON.parse(await askAdmin(surface, { method: 'POST', path, expect: 200 }));
        return ((performance.now() - startedAt) * 1_000) / size;
      },
    },
    ...exportWorks({
      ...{ what: 'events', unit: 'us an event', pid: surface.pid },
      url: `${surface.adminUrl}/admin/v1/events/export?format=csv&networkId=${LARGE}`,
      headers: { authorization: `Bearer ${surface.adminToken}` },
      least: Math.min(amounts.events / 4, THROUGH_DOORS),
    }),
    {
      what: 'integrator after 10,000 records',
      ...{ unit: 'ms', target: undefined },
      async run() {
        const keyPrefix = `sign-${randomBytes(6).toString('hex')}`;
        const destinations = [{ ...large, port: surface.port }];
        const body = batchBody(batchRecords);
        await context.generator.run({
          ...{ destinations, body, keyPrefix, watch: [], connections: 8, until: { requests: 100 } },
        });
        const startedAt = performance.now();
        await untilSigned(surface, large.channel);
        return performance.now() - startedAt;
      },
    },
    {
      what: 'retention of events, a step with its pause',
      ...{ unit: 'ms', target: 'sizeRatio' },
      run: () => retentionMs(at),
    },
  ];
}

async function randomIds({ site }: FillAt, channel: string, count: number): Promise<string[]> {
  const rows = await site.sql.query<{ id: string }>({
    text: `SELECT r.id FROM ledger.channels c CROSS JOIN LATERAL (
             SELECT DISTINCT floor(random() * c.size)::bigint AS idx FROM generate_series(1, $2)) g
             JOIN ledger.records r ON r.channel_id = c.channel_id AND r.idx = g.idx
            WHERE c.channel = $1`,
    values: [channel, count],
  });
  return rows.map(({ id }) => id);
}

const retentionMs = (at: FillAt): Promise<number> =>
  removalMs(at, {
    env: { EVENT_RETENTION_DAYS: String(KEPT_DAYS) },
    text: `SELECT count(*)::int AS left FROM ingest.writes WHERE network_id = $1 AND event_id <
      (lpad(to_hex((extract(epoch FROM now()) * 1000 - ${KEPT_DAYS * 86_400_000}::bigint)::bigint), 12, '0') || repeat('0', 20))::uuid`,
    ...{ values: [LARGE], old: OLD_EVENTS },
  });
