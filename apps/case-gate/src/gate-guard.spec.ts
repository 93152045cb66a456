import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { AuthRequest } from '@sealgate/http';
import type { CallerLookups, FoundCaller } from './data/caller-lookups.ts';
import { gateAccess } from './gate-guard.ts';

const FOUND: FoundCaller = { keyId: 'key_1', familyId: 'key_1', environment: 'live', scopes: [], found: [] };
const newKey = () => `gk_${randomBytes(32).toString('base64url')}`;

function requestWith(key: string): AuthRequest {
  const header = (name: string) => (name === 'authorization' ? [`Bearer ${key}`] : []);
  return { header, path: '/v1/cases', socketAddress: '::1', clientAddress: '::1', note: () => undefined };
}

it('looks up keys that were not seen apart from known ones, which do not wait for them', async () => {
  const asked: string[] = [];
  const lookups = (name: string): CallerLookups => ({
    find: () => {
      asked.push(name);
      return Promise.resolve(FOUND);
    },
  });
  const policy = { ratePerSecond: 1, burst: 1 };
  const { guard, lookUpEntries } = gateAccess({
    gateLookups: lookups('gate'),
    apiLookups: lookups('api'),
    strangerLookups: lookups('strangers'),
    lastUsed: { touch: () => undefined },
    limits: { charge: () => Promise.reject(new Error('nothing is charged')) },
    addresses: { refuse: () => Promise.resolve(undefined) },
    policies: { api: policy, gate: policy },
    gateDeadlineMs: 250,
    now: () => 0,
  });
  const key = newKey();
  await guard.authenticate(requestWith(key));
  await guard.authenticate(requestWith(key));
  await lookUpEntries(requestWith(key), { entries: [], readAtMs: 0 });
  await lookUpEntries(requestWith(newKey()), { entries: [], readAtMs: 0 });
  expect(asked).toEqual(['strangers', 'api', 'gate', 'strangers']);
});
