import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { dataFolder } from './start/data-folder.ts';
import type { DevFile } from './start/dev-file.ts';
import { reporter, told } from './start/run-start.ts';
import { startAll } from './start/start-all.ts';
import type { Surface } from './start/surface.ts';
import { messageOf, UserError } from './start/user-error.ts';
import { ledgerPeer } from './surfaces/ledger-peer.ts';
import { workspaceRoot } from './workspace.ts';

const usage = 'Usage: npm run fabric:demo -- [--data DIR] [--port-base N]';
const count = 1000;

/**
 * `npm run fabric:demo`: starts the ledger peer on the network of `npm run fabric:up`, writes a thousand assets through
 * it, reads them back, prints transactions and blocks, and stops it. Returns the exit code.
 */
export async function runFabricDemo(parameters: readonly string[]): Promise<number> {
  const report = reporter();
  try {
    const { network, portBase } = optionsOf(parameters, process.env);
    const fabricConfig = join(network, 'connection.json');
    if (!existsSync(fabricConfig))
      throw new UserError(`There is no network in ${network}: \`npm run fabric:up\` first.`);
    const asked = new AbortController();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => asked.abort());
    const data = join(network, 'ledger-peer');
    const running = await startAll({
      options: { detach: false, fresh: false, data, portBase, surfaces: [ledgerPeer.name], redis: false },
      surfaces: [onFabric(fabricConfig)],
      env: process.env,
      signal: asked.signal,
      detached: false,
      tell: (line) => report.tell(line),
    });
    try {
      await show(JSON.parse(readFileSync(dataFolder(data).devFile, 'utf8')) as DevFile, (line) => report.tell(line));
    } finally {
      await running.stop();
    }
    return 0;
  } catch (error) {
    return told(error, report);
  }
}

function optionsOf(parameters: readonly string[], env: NodeJS.ProcessEnv): { network: string; portBase: number } {
  try {
    const options = { data: { type: 'string' }, 'port-base': { type: 'string', default: '4400' } } as const;
    const { values } = parseArgs({ args: [...parameters], options });
    const network = resolve(env['INIT_CWD'] ?? workspaceRoot, values.data ?? join(workspaceRoot, '.sealgate/fabric'));
    const portBase = Number(values['port-base']);
    if (!Number.isInteger(portBase) || portBase < 1024 || portBase > 65_000)
      throw new Error('--port-base must be a port number.');
    return { network, portBase };
  } catch (error) {
    throw new UserError(`${messageOf(error)} ${usage}`);
  }
}

/** The same surface and mapping, on Fabric. */
function onFabric(fabricConfig: string): Surface {
  const env: Surface['env'] = (context) => {
    // Fabric has no public log.
    const {
      LEDGER_VERIFIER_KEYS: _keys,
      PUBLIC_LOG: _log,
      ...embedded
    } = ledgerPeer.env({ ...context, integrates: false });
    return { ...embedded, LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig };
  };
  return { ...ledgerPeer, canIntegrate: false, env };
}

async function show({ surfaces, demo }: DevFile, tell: (line: string) => void): Promise<void> {
  const url = surfaces[ledgerPeer.name]?.url;
  const key = demo.keys['peer'];
  if (url === undefined || key === undefined) throw new UserError('The ledger peer is missing in dev.json.');
  const assets = assetsOf(Date.now().toString(36), count);
  tell(`Writing ${count} assets through ${url}/api/assets`);
  const startedAt = performance.now();
  const written = await writeAssets({ url, key }, assets);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const line of linesOf(written)) tell(line);
  const { succeeded, failed, pending } = written.summary;
  tell(`${succeeded} succeeded, ${failed} failed, ${pending} pending, in ${seconds.toFixed(1)} seconds`);
  const read = await readBack({ url, key }, assets);
  tell(`${read} of ${count} read back as they were written`);
  if (succeeded !== count || read !== count) throw new UserError('Not all assets were written and read back.');
}

function linesOf({ transactions }: WriteSummary): string[] {
  return transactions.map(
    ({ transactionId, channel, chaincode, blockNumber, assetIds }) =>
      `  transaction ${transactionId}  block ${blockNumber ?? 'unknown'}  ${assetIds.length} assets  ${channel} ${chaincode}`,
  );
}

interface PeerAccess {
  readonly url: string;
  readonly key: string;
}

export interface WrittenTransaction {
  readonly transactionId: string;
  readonly channel: string;
  readonly chaincode: string;
  readonly blockNumber: number | null;
  readonly assetIds: readonly string[];
}

export interface WriteSummary {
  readonly summary: {
    readonly total: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly pending: number;
  };
  readonly transactions: readonly WrittenTransaction[];
}

interface Asset {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly number: number };
}

const batchSize = 100;
const answerWithinMs = 60_000;
const jobLooks = 120;
const jobEveryMs = 500;

/** New assets of one type; `run` makes their ids unique. */
export function assetsOf(run: string, count: number): Asset[] {
  return Array.from({ length: count }, (_, number) => ({
    id: `${run}-${String(number).padStart(4, '0')}`,
    type: `demo.${run}`,
    data: { number },
  }));
}

/**
 * Writes them through the ledger peer. Polls the job if an outcome is unknown. @throws UserError with the response of
 * the peer if it rejects them.
 */
async function writeAssets(peer: PeerAccess, assets: readonly Asset[]): Promise<WriteSummary> {
  const body = { assets, options: { batchSize } };
  const { status, answer } = await ask(peer, 'POST', '/api/assets', body);
  if (status === 200) return answer as WriteSummary;
  for (let look = 0; status === 202 && look < jobLooks; look += 1) {
    const job = await ask(peer, 'GET', `/api/jobs/${(answer as { jobId: string }).jobId}`);
    const { status: state, result } = job.answer as { status: string; result?: WriteSummary };
    if (state === 'done' && result !== undefined) return result;
    await delay(jobEveryMs);
  }
  throw new UserError(`The ledger peer answered ${status}: ${JSON.stringify(answer)}`);
}

/** Counts the assets that can be read back unchanged, by one query and one single read. */
export async function readBack(peer: PeerAccess, assets: readonly Asset[]): Promise<number> {
  const [first] = assets;
  if (first === undefined) return 0;
  const query = await ask(peer, 'POST', '/api/assets/query', { type: first.type, limit: assets.length });
  const found = (query.answer as { assets?: Asset[] }).assets ?? [];
  const byId = new Map(found.map((asset) => [asset.id, asset]));
  const single = await ask(peer, 'GET', `/api/assets/${first.id}?type=${first.type}`);
  const isRead = (single.answer as Partial<Asset>).data?.number === first.data.number;
  return isRead ? assets.filter(({ id, data }) => byId.get(id)?.data.number === data.number).length : 0;
}

async function ask({ url, key }: PeerAccess, method: 'GET' | 'POST', path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'X-Api-Key': key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerWithinMs),
  });
  const answer: unknown = await response.json();
  return { status: response.status, answer };
}
