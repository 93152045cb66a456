import { setTimeout as delay } from 'node:timers/promises';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { executeSql, holdLock, until } from '@sealgate/testing';
import type { PodStates } from './pod-states.ts';
import type { Prometheus } from './prometheus.ts';
import { newServerSecret } from '../harness/new-secrets.ts';
import { PEER_CHANNEL, type Pod, type WatchedSite } from './site.ts';
import type { Load, World } from './world.ts';

export interface Scene {
  readonly site: WatchedSite;
  readonly world: World;
  readonly load: Load;
  readonly pods: PodStates;
  readonly prometheus: Prometheus;
}

/** A cause, and the one alert that tells it. */
export interface Fault {
  readonly is: string;
  readonly alert: string;
  readonly severity: 'page' | 'ticket';
  /** The service that the alert is about; absent: several. */
  readonly service?: string;
  /** Breaks it; returns the mend. */
  begin(scene: Scene): Promise<() => Promise<void>>;
}

export const databaseAway: Fault = {
  is: 'PostgreSQL is stopped',
  alert: 'SealgateDatabaseAway',
  severity: 'page',
  async begin({ site: { postgres } }) {
    await postgres.halt('immediate');
    return () => postgres.restart();
  },
};

export const redisAway: Fault = {
  is: 'Redis is killed',
  alert: 'SealgateRedisAway',
  severity: 'ticket',
  async begin({ site: { redis } }) {
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    return () => redis.restart();
  },
};

export const processGone: Fault = {
  is: 'a process of the gateway is killed',
  alert: 'SealgateTargetDown',
  severity: 'page',
  service: 'ingest-gateway',
  async begin({ site }) {
    const { process: gateway } = site.pods['gateway-2'];
    await gateway.kill();
    return () => gateway.start();
  },
};

export const integratorFrozen: Fault = {
  is: 'the integrator is frozen',
  alert: 'SealgateTargetDown',
  severity: 'page',
  service: 'ledger-peer',
  begin({ site }) {
    const { pid } = site.pods.integrator.process;
    process.kill(pid, 'SIGSTOP');
    return Promise.resolve(async () => void process.kill(pid, 'SIGCONT'));
  },
};

export const surfaceGone: Fault = {
  is: 'the case gate is scaled to zero',
  alert: 'SealgateSurfaceGone',
  severity: 'page',
  service: 'case-gate',
  async begin({ site, pods, prometheus }) {
    const gate = site.pods['case-gate'];
    const all = Object.values(site.pods);
    pods.remove(gate);
    prometheus.scrape(all.filter((pod) => pod !== gate));
    await gate.process.stop();
    return async () => {
      await gate.process.start();
      pods.add(gate);
      prometheus.scrape(all);
    };
  },
};

export const rightsLost: Fault = {
  is: 'the role of the risk partner loses its rights',
  alert: 'SealgateNotReady',
  severity: 'page',
  service: 'risk-partner',
  async begin({ site: { postgres } }) {
    await executeSql(postgres.url, 'REVOKE USAGE ON SCHEMA risk FROM service');
    return () => executeSql(postgres.url, 'GRANT USAGE ON SCHEMA risk TO service');
  },
};

export const checkpointForged: Fault = {
  is: 'a stored checkpoint is changed',
  alert: 'SealgateLedgerHalted',
  severity: 'page',
  service: 'ledger-peer',
  async begin({ site: { postgres }, world: { networkId } }) {
    const channel = `(SELECT channel_id FROM ledger.channels WHERE channel = '${networkId}.main')`;
    // Locked, because the integrator replaces it all the time.
    await executeSql(
      postgres.url,
      `BEGIN; CREATE TABLE public.saved AS SELECT * FROM ledger.checkpoints WHERE channel_id = ${channel} FOR UPDATE;
       UPDATE ledger.checkpoints SET note = replace(note, E'\\n\\u2014', E'\\nforged\\n\\u2014') WHERE channel_id = ${channel};
       COMMIT`,
    );
    return () =>
      executeSql(
        postgres.url,
        `UPDATE ledger.checkpoints c SET note = s.note FROM public.saved s WHERE s.channel_id = c.channel_id;
         DROP TABLE public.saved`,
      );
  },
};

export const checkpointsUnwritable: Fault = {
  is: 'the volume of the integrator takes no checkpoint',
  alert: 'SealgateIntegratorBehind',
  severity: 'page',
  begin({ site: { checkpoints } }) {
    renameSync(checkpoints, `${checkpoints}.kept`);
    writeFileSync(checkpoints, '');
    return Promise.resolve(async () => {
      rmSync(checkpoints);
      renameSync(`${checkpoints}.kept`, checkpoints);
    });
  },
};

/** Longer than a check may take, and shorter than what would make the gate not ready. */
const STALL_MS = 400;

export const gateStalls: Fault = {
  is: 'PostgreSQL stalls checks of the gate again and again',
  alert: 'SealgateGateFailsClosed',
  severity: 'page',
  service: 'case-gate',
  begin({ site: { postgres } }) {
    let isMended = false;
    const stalling = (async () => {
      while (!isMended) {
        const lock = await holdLock(postgres.url, 'LOCK TABLE gate.eligibility IN ACCESS EXCLUSIVE MODE');
        await delay(STALL_MS);
        await lock.release();
        await delay(STALL_MS);
      }
    })();
    return Promise.resolve(async () => {
      isMended = true;
      await stalling;
    });
  },
};

export const keysGuessed: Fault = {
  is: 'somebody guesses keys of the ledger peer',
  alert: 'SealgateRefusalShareHigh',
  severity: 'ticket',
  service: 'ledger-peer',
  begin({ load }) {
    load.isGuessing = true;
    return Promise.resolve(async () => void (load.isGuessing = false));
  },
};

export const sourceRotated: Fault = {
  is: 'the secret of a source is rotated at its sender alone',
  alert: 'SealgateSourceFailing',
  severity: 'ticket',
  service: 'ingest-gateway',
  begin({ load }) {
    load.isForging = true;
    return Promise.resolve(async () => void (load.isForging = false));
  },
};

export const archiveLocked: Fault = {
  is: 'maintenance holds the table of archived records, which every read of events looks into',
  alert: 'SealgateEventsBehind',
  severity: 'ticket',
  service: 'ledger-peer',
  async begin({ site: { postgres } }) {
    const lock = await holdLock(postgres.url, 'LOCK TABLE ledger.archived IN ACCESS EXCLUSIVE MODE');
    return () => lock.release();
  },
};

export const receiverGone: Fault = {
  is: 'a receiver of events acknowledges nothing for 72 hours',
  alert: 'SealgateSubscriptionStopped',
  severity: 'ticket',
  service: 'ledger-peer',
  async begin({ site }) {
    const admin = site.admin('ledger-peer');
    const body = { url: 'https://127.0.0.1:1/in', channel: PEER_CHANNEL, from: '0', paused: true };
    const { subscriptionId } = await admin.ask('POST', '/subscriptions', body);
    const path = `/subscriptions/${String(subscriptionId)}`;
    // Its next failure is one of three days.
    await executeSql(
      site.postgres.url,
      `UPDATE peer.subscriptions SET state = 'active', failing_since = now() - interval '73 hours'
        WHERE subscription_id = '${String(subscriptionId)}'`,
    );
    const isStopped = async (): Promise<boolean> => (await admin.ask('GET', path))['state'] === 'stopped';
    await until(isStopped, { timeoutMs: 60_000, what: 'a stopped subscription' });
    return async () => void (await admin.ask('DELETE', path));
  },
};

export const secretMissing: Fault = {
  is: 'the risk partner is started without its server secret',
  alert: 'SealgateServerSecretMissing',
  severity: 'ticket',
  service: 'risk-partner',
  async begin({ site }) {
    const { process: risk, env } = site.pods['risk-partner'];
    const [kept, other] = [env['SERVER_SECRETS']!, newServerSecret('e2')];
    const restart = async (secrets: string): Promise<void> => {
      env['SERVER_SECRETS'] = secrets;
      await risk.stop();
      await risk.start();
    };
    await restart(other);
    return () => restart(`${other},${kept}`);
  },
};

const CRASHES = 3;

export const crashLoop: Fault = {
  is: 'a process of the gateway crashes again and again',
  alert: 'SealgateRestarting',
  severity: 'page',
  service: 'ingest-gateway',
  async begin({ site, prometheus }) {
    const pod = site.pods['gateway-2'];
    for (let crashes = 0; crashes < CRASHES; crashes += 1) {
      const startedAt = await startOf(prometheus, pod);
      // Its metric is in whole seconds.
      await until(() => Date.now() / 1000 > startedAt + 2);
      await pod.process.kill();
      await pod.process.start();
      await until(async () => (await startOf(prometheus, pod)) > startedAt, { what: 'a scrape of the new process' });
    }
    return () => Promise.resolve();
  },
};

/** When the process was started that Prometheus scraped last. */
const startOf = async (prometheus: Prometheus, { name }: Pod): Promise<number> =>
  Number(await prometheus.value(`last_over_time(process_start_time_seconds{pod="${name}"}[1m])`));
