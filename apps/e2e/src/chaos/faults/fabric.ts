import type { RealNetwork } from '../../harness/fabric-real.ts';
import type { Random } from '../random.ts';
import { last, type FaultKind } from './fault.ts';

const NONE = 'no ledger peer writes to Fabric (--fabric)';

/** Breaks a part of the Fabric network, and mends it: transactions commit again then. */
const fault = (name: string, strike: (network: RealNetwork, random: Random) => Promise<void>): FaultKind => ({
  name: `fabric-${name}`,
  missing: ({ fabric }) => (fabric === undefined ? NONE : undefined),
  async run({ site: { fabric } }, random) {
    if (fabric === undefined) throw new Error(NONE);
    await strike(fabric, random)
      .then(() => last(random, 1_000, 6_000))
      .finally(() => fabric.mend());
    return { hit: 'fabric', did: {} };
  },
});

export const fabricFaults: readonly FaultKind[] = [
  fault('peer-killed', ({ peer }) => peer.kill()),
  fault('peer-frozen', ({ peer }) => peer.freeze()),
  fault('orderer-killed', ({ orderer }) => orderer.kill()),
  fault('orderer-frozen', ({ orderer }) => orderer.freeze()),
  fault('contract-killed', ({ contract }) => contract.kill()),
  fault('contract-frozen', ({ contract }) => contract.freeze()),
  // Blocks are made without one peer; then it is the only one that can be asked, and cannot get them.
  fault('peer-behind', async ({ secondOrganization, orderer, peer }, random) => {
    await secondOrganization.kill();
    await last(random, 1_000, 4_000);
    await orderer.freeze();
    await peer.freeze();
    await secondOrganization.start();
  }),
];
