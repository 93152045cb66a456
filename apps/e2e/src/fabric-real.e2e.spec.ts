import { describe, it } from '@jest/globals';
import { organizationStories } from './fabric-organizations.ts';
import { describeFabric } from './fabric-stories.ts';
import { realNetwork } from './harness/fabric-real.ts';

/** The folder of a network made by `fabric:up --with-basic`; set by `npm run test:fabric`. */
const data = process.env['SEALGATE_FABRIC'];

if (data === undefined) {
  describe('A real Fabric network', () => {
    it.skip('is needed: `npm run test:fabric`', () => undefined);
  });
} else {
  describeFabric('A real Fabric network', () => realNetwork(data));
  organizationStories(() => realNetwork(data));
}
