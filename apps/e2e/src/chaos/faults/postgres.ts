import { executeSql, holdLock, slowProxy, until } from '@sealgate/testing';
import { nowMs } from '../now.ts';
import type { Random } from '../random.ts';
import { STORED, type Stored } from '../site.ts';
import { last, onLinux, surfaceOf, withVariables, type Done, type FaultKind, type Scene } from './fault.ts';

const DONE: Done = { hit: 'postgres', did: {} };
const SERVED_WITHIN_MS = 60_000;

/** Promotes the standby; the old primary comes back as another one where `returns`, and is then rebuilt as the standby. */
const promoted = (how: 'killed' | 'frozen', returns: boolean): FaultKind => ({
  name: `postgres-promoted-${how}${returns ? '-returns' : ''}`,
  isAlone: true,
  perRound: 2,
  ...(how === 'frozen' ? { missing: onLinux } : {}),
  async run({ site, meter }, random) {
    const { pair } = site;
    await pair.failOver(how);
    const promotedMs = nowMs();
    const gateways = site.replicasOf('ingest-gateway');
    const againMs = await Promise.all(
      gateways.map(async ({ name }) => (await meter.servedAfter(name, promotedMs, SERVED_WITHIN_MS)) - promotedMs),
    );
    if (returns) await temptedBack({ site, meter }, random);
    await pair.rejoin();
    return { hit: 'postgres', did: { promotions: 1 }, againMs };
  },
});

/** The old primary takes connections again while every connection to the new one is cut. */
async function temptedBack({ site, meter }: Scene, random: Random): Promise<void> {
  await site.pair.startOld();
  const cutMs = nowMs();
  await cutConnections(site.pair.primaryUrl);
  for (const { name } of site.replicasOf('ingest-gateway')) await meter.servedAfter(name, cutMs, SERVED_WITHIN_MS);
  await last(random, 200, 1_000);
}

/** Ends all but those of the replication. */
const cutConnections = (url: string): Promise<void> =>
  executeSql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );

/** Begins new WAL segments until there is no place for one. Whether that was reached. */
async function fillsUp(url: string): Promise<boolean> {
  const next = `SELECT pg_logical_emit_message(false, 'chaos', repeat('x', 100000)), pg_switch_wal()`;
  for (let left = SEGMENTS; left > 0; left -= 1) {
    try {
      await executeSql(url, next);
    } catch {
      return true;
    }
  }
  return false;
}

/** More than PostgreSQL keeps ready for the future. */
const SEGMENTS = 40;

/** What requests wait for: tables that each of them writes. */
const LOCKED: Readonly<Record<Stored, readonly string[]>> = {
  'ingest-gateway': ['ledger.channels', 'ledger.claims', 'ingest.writes'],
  'case-gate': ['ledger.channels', 'gate.eligibility', 'gate.cases'],
  'risk-partner': ['ledger.channels', 'risk.resources'],
  'ledger-peer': ['ledger.channels', 'ledger.claims'],
};

export const postgresFaults: readonly FaultKind[] = [
  promoted('killed', false),
  promoted('frozen', false),
  promoted('killed', true),
  {
    name: 'postgres-restarted',
    run: async ({ site: { pair } }, random) => {
      await pair.restartPrimary(random.chance(0.5) ? 'fast' : 'immediate');
      return DONE;
    },
  },
  {
    name: 'postgres-frozen',
    missing: onLinux,
    run: async ({ site: { pair } }, random) => {
      const thaw = pair.freezePrimary();
      await last(random, 300, 3_000).finally(thaw);
      return DONE;
    },
  },
  {
    name: 'postgres-backends-ended',
    run: async ({ site: { pair } }) => {
      await cutConnections(pair.primaryUrl);
      return DONE;
    },
  },
  {
    name: 'postgres-commits-withheld',
    missing: onLinux,
    run: async ({ site: { pair } }, random) => {
      const goOn = await pair.holdCommits();
      await last(random, 1_000, 6_000).finally(goOn);
      return DONE;
    },
  },
  {
    name: 'tables-locked',
    run: async ({ site }, random) => {
      const surface = surfaceOf(site, random, STORED);
      const table = random.pick(LOCKED[surface]);
      const lock = await holdLock(site.databaseOf(surface), `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      await last(random, 500, 4_000).finally(() => lock.release());
      return { hit: `${surface} ${table}`, did: {} };
    },
  },
  {
    name: 'postgres-disk-full',
    missing: ({ disks }) => (disks.length === 2 ? undefined : 'this user may not mount a small disk'),
    isAlone: true,
    run: async ({ site: { pair, disks } }, random) => {
      const disk = disks.find(({ path }) => path === pair.primaryFolder)!;
      disk.shrink();
      const isFull = await fillsUp(pair.primaryUrl);
      await last(random, 500, 3_000).finally(() => disk.grow());
      // Without a place for its WAL the server ends; it starts again once there is one.
      let revived = 0;
      const isBack = async (): Promise<boolean> => {
        revived += await pair.revive();
        return executeSql(pair.primaryUrl, 'SELECT 1').then(
          () => true,
          () => false,
        );
      };
      await until(isBack, { timeoutMs: SERVED_WITHIN_MS, what: 'the server whose disk was full' });
      return { hit: 'postgres', did: { revived, full: Number(isFull) } };
    },
  },
  {
    name: 'postgres-far',
    run: farAway,
  },
];

/** Both replicas of a surface reach PostgreSQL over 50 to 100 ms. */
async function farAway({ site }: Scene, random: Random): Promise<Done> {
  const { pair } = site;
  const surface = surfaceOf(site, random, STORED);
  const ports = [pair.primaryUrl, pair.standbyUrl].map((url) => Number(new URL(url).port));
  const proxies = await Promise.all(ports.map((port) => slowProxy(port)));
  const delayMs = random.between(25, 50);
  for (const proxy of proxies) proxy.delayMs = delayMs;
  const servers = proxies.map(({ port }) => `127.0.0.1:${port}`).join();
  const variables = { DATABASE_URL: site.serviceUrl(surface, servers) };
  try {
    await withVariables(site.replicasOf(surface), variables, () => last(random, 2_000, 5_000));
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
  return { hit: surface, did: { restarts: 4, milliseconds: delayMs * 2 } };
}
