import { describe, it } from '@jest/globals';
import { proofStories } from './fabric-proofs.ts';
import { realNetwork } from './harness/fabric-real.ts';

/** The folder of a network made by `fabric:up`; set by `npm run test:fabric`. */
const data = process.env['SEALGATE_FABRIC'];

if (data === undefined) {
  describe('Proofs of records on a real Fabric network', () => {
    it.skip('need one: `npm run test:fabric`', () => undefined);
  });
} else {
  proofStories(() => realNetwork(data));
}
