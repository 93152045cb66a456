import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startAll } from '../start/start-all.ts';
import { dataFolder } from '../start/data-folder.ts';
import type { DevFile } from '../start/dev-file.ts';
import { reporter } from '../start/reporter.ts';
import { told } from '../start/run-start.ts';
import type { Surface } from '../start/surface.ts';
import { messageOf, UserError } from '../start/user-error.ts';
import { ledgerPeer } from '../surfaces/ledger-peer.ts';
import { workspaceRoot } from '../workspace.ts';
import { assetsOf, readBack, writeAssets, type WriteSummary } from './write-assets.ts';

const usage = 'Usage: npm run fabric:demo -- [--data DIR] [--port-base N]';
const count = 1000;

/**
 * `npm run fabric:demo`: starts the ledger peer on the network of `npm run fabric:up`, writes a thousand assets through
 * it, reads them back, shows transactions and blocks, and stops it again. Gives the exit code.
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
    if (!Number.isInteger(portBase) || portBase < 1024 || portBase > 65_000) throw new Error('--port-base is a port.');
    return { network, portBase };
  } catch (error) {
    throw new UserError(`${messageOf(error)} ${usage}`);
  }
}

/** The same surface, its mapping unchanged, on another ledger. */
function onFabric(fabricConfig: string): Surface {
  const env: Surface['env'] = (context) => {
    // Fabric has no public log.
    const { LEDGER_VERIFIER_KEYS: _none, ...embedded } = ledgerPeer.env({ ...context, integrates: false });
    return { ...embedded, LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig };
  };
  return { ...ledgerPeer, canIntegrate: false, env };
}

async function show({ surfaces, demo }: DevFile, tell: (line: string) => void): Promise<void> {
  const url = surfaces[ledgerPeer.name]?.url;
  const key = demo.keys['peer'];
  if (url === undefined || key === undefined) throw new UserError('The ledger peer said nothing about itself.');
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
  if (succeeded !== count || read !== count) throw new UserError('Not every asset was written and read back.');
}

function linesOf({ transactions }: WriteSummary): string[] {
  return transactions.map(
    ({ transactionId, channel, chaincode, blockNumber, assetIds }) =>
      `  transaction ${transactionId}  block ${blockNumber ?? 'unknown'}  ${assetIds.length} assets  ${channel} ${chaincode}`,
  );
}
