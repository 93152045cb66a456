import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext } from '../bench-context.ts';
import { assetsBody } from '../bodies.ts';
import type { RowLoad } from '../rows/row.ts';
import { outOfReach, prepareSite, type Site, type SiteOptions } from './site.ts';
import type { Surface } from './surface-process.ts';

interface PeerSite extends Site {
  /** Requests of one transaction each, of so many assets of one type. */
  readonly assets: (peer: Surface, count: number, type: string) => RowLoad;
}

/** The ledger peer as installed: a mapping file, one key, limits on but unreachably high. */
export async function preparePeerSite(
  context: BenchContext,
  {
    channel,
    fabricConfig,
    env: more,
    ...options
  }: SiteOptions & {
    /** `<networkId>.<name>`: the channel of every type. */
    readonly channel: string;
    /** Absent: the embedded ledger. */
    readonly fabricConfig?: string;
  },
): Promise<PeerSite> {
  const mappingFile = join(context.folder, `mapping-${options.name}.json`);
  writeFileSync(mappingFile, JSON.stringify({ mappings: [{ type: '*', channel, chaincode: 'records' }] }));
  const key = randomBytes(32).toString('base64url');
  const env = {
    ...outOfReach,
    MAPPING_FILE: mappingFile,
    API_KEY_HASHES: hash('sha256', key, 'hex'),
    ...(fabricConfig === undefined
      ? {}
      : { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig, LEDGER_INTEGRATOR: 'false' }),
    ...more,
  };
  const site = await prepareSite(context, { ...options, surface: 'ledger-peer', env });
  const headers = { 'Content-Type': 'application/json', 'X-Api-Key': key };
  return {
    ...site,
    assets: ({ port }, count, type) => ({
      destinations: [{ port, path: '/api/assets', headers }],
      body: assetsBody(count, type),
      sendsKey: false,
    }),
  };
}
