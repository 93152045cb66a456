import { describe, it } from '@jest/globals';
import { describeFabric } from './fabric-stories.ts';
import { realNetwork } from './harness/fabric-real.ts';

/** The folder of a network that `fabric:up --with-basic` has made; `npm run test:fabric` sees to it. */
const data = process.env['SEALGATE_FABRIC'];

if (data === undefined) {
  describe('Ledger peers on a real Fabric network', () => {
    it.skip('need one: `npm run test:fabric`', () => undefined);
  });
} else {
  describeFabric('a real Fabric network', () => realNetwork(data));
}
