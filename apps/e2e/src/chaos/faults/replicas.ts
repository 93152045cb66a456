import { existsSync } from 'node:fs';
import { migrate } from '../../harness/bundle.ts';
import type { Surface } from '../history.ts';
import type { Random } from '../random.ts';
import type { Replica } from '../replica.ts';
import { STORED, SURFACES, type Site } from '../site.ts';
import { last, onLinux, restarted, surfaceOf, withVariables, type Done, type FaultKind } from './fault.ts';

const oneOf = ({ replicas }: Site, random: Random): Replica => random.pick(replicas);

/** Kills one like a crash of its machine, and starts it again. */
export const processKilled: FaultKind = {
  name: 'process-killed',
  run: async ({ site }, random) => {
    const replica = oneOf(site, random);
    await replica.alone(async () => {
      await replica.process.kill();
      await replica.start();
    });
    return { hit: replica.name, did: { kills: 1 } };
  },
};

/** Restarts all replicas of a surface, one after the other. */
async function rolled(site: Site, surface: Surface): Promise<Done> {
  const replicas = site.replicasOf(surface);
  for (const replica of replicas) await restarted(replica);
  return { hit: surface, did: { restarts: replicas.length } };
}

const FAKETIME = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
].find((file) => existsSync(file));
const FIVE_MINUTES = 300;

export const replicaFaults: readonly FaultKind[] = [
  processKilled,
  {
    name: 'process-frozen',
    missing: onLinux,
    run: async ({ site }, random) => {
      const replica = oneOf(site, random);
      await replica.alone(async () => {
        const { pid } = replica.process;
        process.kill(pid, 'SIGSTOP');
        await last(random, 300, 4_000).finally(() => process.kill(pid, 'SIGCONT'));
      });
      return { hit: replica.name, did: { freezes: 1 } };
    },
  },
  {
    name: 'process-restarted',
    run: async ({ site }, random) => {
      const replica = oneOf(site, random);
      await restarted(replica);
      return { hit: replica.name, did: { restarts: 1 } };
    },
  },
  { name: 'rolling-restart', run: ({ site }, random) => rolled(site, surfaceOf(site, random, SURFACES)) },
  {
    name: 'rolling-upgrade',
    run: async ({ site }, random) => {
      const surface = surfaceOf(site, random, STORED);
      await migrate({ url: site.databaseOf(surface) }, surface);
      return rolled(site, surface);
    },
  },
  {
    name: 'clock-off',
    missing: () => (FAKETIME === undefined ? 'there is no libfaketime (Debian: apt-get install faketime)' : undefined),
    run: async ({ site }, random) => {
      const replica = oneOf(site, random);
      const variables = {
        LD_PRELOAD: FAKETIME!,
        FAKETIME: `${random.chance(0.5) ? '+' : '-'}${FIVE_MINUTES}`,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      };
      await withVariables([replica], variables, () => last(random, 1_000, 3_000));
      return { hit: replica.name, did: { restarts: 2 } };
    },
  },
  {
    name: 'certificate-expired',
    missing: (site) => (site.replicasOf('risk-partner').length > 0 ? undefined : 'nothing serves TLS'),
    run: async ({ site: { certificates } }, random) => {
      certificates.expire();
      await last(random, 2_000, 4_000);
      certificates.renew();
      return { hit: 'risk-partner', did: { expired: 1 } };
    },
  },
  {
    name: 'dns-gone',
    isAlone: true,
    run: async ({ site: { names } }, random) => {
      names.takeAway();
      await last(random, 500, 3_000);
      names.bringBack();
      return { hit: 'dns', did: {} };
    },
  },
];
