import { describe, it } from '@jest/globals';
import { killStories } from './fabric-kills.ts';
import { realNetwork } from './harness/fabric-real.ts';

/** The folder of a network made by `fabric:up --with-basic`; set by `npm run test:fabric` and `npm run soak:fabric`. */
const data = process.env['SEALGATE_FABRIC'];
/** A few in the tests; `npm run soak:fabric` sets more. */
const kills = Number(process.env['SEALGATE_FABRIC_KILLS'] ?? '5');

if (data === undefined) {
  describe('Kills on a real Fabric network', () => {
    it.skip('need one: `npm run soak:fabric`', () => undefined);
  });
} else {
  killStories(() => realNetwork(data), kills, 'write');
  killStories(() => realNetwork(data), kills, 'action');
}
