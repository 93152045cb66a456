import { expect, it } from '@jest/globals';
import { checkMapping } from './domain/check-mapping.ts';
import { MAPPING } from './testing/fabric-mapping.ts';
import { fabricSuite } from './testing/fabric-suite.ts';

const suite = fabricSuite();

it('tries each read, query and history of a mapping on a network, and writes nothing', async () => {
  const { client, ledger, peer } = suite;
  const before = peer.channel('main').height();
  const rules = { driver: 'fabric', defaultChannel: undefined } as const;
  const { ok, calls } = await checkMapping({ ledger, rules, now: Date.now }, JSON.stringify(MAPPING));
  expect(ok).toBe(false);
  const told = calls.map(({ types, transaction, answer }) => `${types.join()} ${transaction}: ${answer}`);
  expect(told).toEqual(
    expect.arrayContaining([
      'ours.* read: absent',
      'ours.* queryByType: answered',
      'vehicle ReadAsset: absent',
      'vehicle GetAllAssets: answered',
      'ranged GetAssetHistory: answered',
      // Its words for a missing asset are not those of the mapping.
      'transfer ReadAsset: refused',
      'pin GetPin: absent',
      'nobodys read: unavailable',
      'mistyped ReadAsst: unavailable',
    ]),
  );
  const details = calls.map(({ detail }) => detail);
  expect(details).toEqual(expect.arrayContaining(['the asset sealgate-check does not exist']));
  expect(details).toEqual(expect.arrayContaining([expect.stringContaining('no peers available to evaluate')]));
  expect(peer.channel('main').height()).toBe(before);
  expect(peer.channel('main').pending()).toBe(0);
  expect(client.state().unsettled).toBe(0);
});
