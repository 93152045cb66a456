import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { prepareSite, type GatewaySite } from './gateway-site.ts';

interface PeerSite extends GatewaySite {
  /** For `X-Api-Key`. */
  readonly key: string;
}

/** The ledger peer as installed: a mapping file, one key, limits on but unreachably high. */
export async function preparePeerSite(
  context: BenchContext,
  {
    name,
    channel,
    fabricConfig,
    checkout,
    stack,
    env: more,
  }: {
    readonly name: string;
    /** `<networkId>.<name>`: the channel of every type. */
    readonly channel: string;
    /** Absent: the embedded ledger. */
    readonly fabricConfig?: string;
    /** The checkout whose bundle runs; default: this one. */
    readonly checkout?: string;
    readonly stack: ReleaseStack;
    /** Variables beyond those of every peer here. */
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<PeerSite> {
  const mappingFile = join(context.folder, `mapping-${name}.json`);
  writeFileSync(mappingFile, JSON.stringify({ mappings: [{ type: '*', channel, chaincode: 'records' }] }));
  const key = randomBytes(32).toString('base64url');
  const env = {
    MAPPING_FILE: mappingFile,
    API_KEY_HASHES: hash('sha256', key, 'hex'),
    RATE_PER_SECOND: '1000000',
    RATE_BURST: '1000000',
    ...(fabricConfig === undefined
      ? {}
      : { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig, LEDGER_INTEGRATOR: 'false' }),
    ...more,
  };
  const site = await prepareSite(context, {
    ...{ name, surface: 'ledger-peer', redisUrl: context.redis?.url, checkout, stack },
    env,
  });
  return { ...site, key };
}
