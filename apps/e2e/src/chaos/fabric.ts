import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RealNetwork } from '../harness/fabric-real.ts';
import { connectionOf, placesOf } from '../harness/fabric-stage.ts';
import { canonical, type Json } from './judge/canonical.ts';
import type { LedgerRecord } from './judge/index.ts';

const OWNER = 'acme';

/** The types of assets, in channels of ours: of `main` two organisations endorse each write, of `other` one is enough. */
const CHANNELS = { asset: `${OWNER}.main`, other: `${OWNER}.other` } as const;
export const FABRIC_TYPES = Object.keys(CHANNELS);

/** The variables of ledger peers that write to a network. */
export function fabricEnv(folder: string, network: RealNetwork): Record<string, string> {
  const [connectionFile, mappingFile] = [join(folder, 'fabric.json'), join(folder, 'mapping.json')];
  writeFileSync(connectionFile, JSON.stringify(connectionOf(network, OWNER, { gatewayPeers: network.bothPeers })));
  const mappings = Object.entries(CHANNELS).map(([type, channel]) => ({ type, channel, chaincode: 'records' }));
  writeFileSync(mappingFile, JSON.stringify({ mappings }));
  return { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: connectionFile, MAPPING_FILE: mappingFile };
}

/** What is in the network for the judge, read by Fabric's own client: each record as often as it has versions. */
export async function* fabricRecords(network: RealNetwork): AsyncGenerator<LedgerRecord> {
  for (const [name, { fabricChannel, prefix }] of Object.entries(placesOf(network, OWNER))) {
    const channel = `${OWNER}.${name}`;
    let index = 0;
    for (const found of (await network.reader.list(fabricChannel, prefix)).values()) {
      const type = found.type.slice(prefix.length);
      // What the network wrote to see whether it works.
      if (!FABRIC_TYPES.includes(type)) continue;
      const { owner, transactionId, version } = found;
      const id = found.id.slice(prefix.length);
      const data = canonical(found.data as Json);
      const extra = found.extra === null ? null : canonical(found.extra as Json);
      const record = { channel, network: OWNER, id, type, owner, data, extra, transactionId };
      for (let copy = 0; copy < version; copy += 1)
        yield { ...record, index: index++, leafHash: undefined, leafOfColumns: undefined };
    }
  }
}
