import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { redisCommand } from '../../harness/redis-control.ts';
import { openFiles, residentBytes, connectionsTo } from '../../harness/process-usage.ts';
import type { History } from '../history.ts';
import { nowMs } from '../now.ts';
import { checkpointsOf, PEER_CHANNEL, type Site } from '../site.ts';
import { CHANNELS, type Network } from '../world.ts';
import type { Step } from './load.ts';

/** Somebody who fetches the checkpoints of the gateway's and the ledger peer's channels. */
export function checkpointStep(site: Site, history: History, networks: readonly Network[]): Step {
  const ofGateway = networks.flatMap(({ networkId }) => CHANNELS.map((name) => `${networkId}.${name}`));
  const hasPeerLog = site.replicasOf('ledger-peer').length > 0 && site.fabric === undefined;
  const places = [
    ...ofGateway.map((channel) => ({ surface: 'ingest-gateway' as const, channel })),
    ...(hasPeerLog ? [{ surface: 'ledger-peer' as const, channel: PEER_CHANNEL }] : []),
  ];
  return async (random) => {
    if (places.length === 0) return;
    const { surface, channel } = random.pick(places);
    const { process, admin, name } = random.pick(site.replicasOf(surface));
    const startedMs = nowMs();
    const asked =
      surface === 'ingest-gateway'
        ? admin.get(`/ledger/channels/${channel}/checkpoint`)
        : process.public.send({ path: `/ledger/${channel}/checkpoint` });
    const answer = await asked.catch(() => undefined);
    if (answer?.status !== 200) return;
    history.add({ is: 'checkpoint', channel, from: name, startedMs, atMs: nowMs(), text: answer.text });
  };
}

/** Adds every checkpoint that the replicas kept in their folders. */
export function addKeptCheckpoints(site: Site, history: History): void {
  for (const { surface, index } of site.replicas) {
    const folder = checkpointsOf(site.folder, surface, index);
    for (const { channel, text } of notesIn(folder)) history.add({ is: 'checkpoint', channel, atMs: nowMs(), text });
  }
}

/** Files are `<channel>/[e<epoch>/]<day>.ndjson`, a line a note; a kill may cut the last line short. */
function notesIn(folder: string): { channel: string; text: string }[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ndjson'));
  return files.flatMap((name) => {
    const lines = readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'));
    return lines.map((line) => ({
      channel: name.split('/')[0]!,
      text: (JSON.parse(line) as { readonly note: string }).note,
    }));
  });
}

/** Adds what each process holds at this quiet moment. */
export async function addHeld(site: Site, history: History): Promise<void> {
  const redisKeys = Number((await redisCommand(site.redis.url, 'DBSIZE')).slice(1));
  const ports = new Set([new URL(site.pair.primaryUrl).port, new URL(site.pair.standbyUrl).port].map(Number));
  for (const { name, process } of site.replicas) {
    const { pid } = process;
    const held = { residentKib: residentBytes(pid) / 1024, descriptors: openFiles(pid).length };
    const postgresConnections = connectionsTo(pid, ports);
    history.add({ is: 'held', process: name, pid, atMs: nowMs(), ...held, postgresConnections, redisKeys });
  }
}
