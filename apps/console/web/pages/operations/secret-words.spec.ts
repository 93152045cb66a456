import { describe, expect, it } from '@jest/globals';
import { acceptedState, secretState } from './secret-words.ts';

const AT = '2030-01-02T03:04:05.678Z';
const need = { what: 'claims on Idempotency-Keys', rows: 3, until: AT };
const secret = { id: 's1', makes: 0, checks: 2, unaware: 0, lastMadeAt: AT, needs: [] };
const accepted = { variable: 'API_KEY_HASHES', id: '01234567', accepts: 2, unaware: 0, lastUsedAt: null };

describe('the state of a server secret', () => {
  it.each([
    [{ makes: 2, checks: 0, needs: [need] }, 'good', 'In use'],
    [{ makes: 1, checks: 1 }, 'wait', 'In use by 1 process of 2'],
    [{ lastMadeAt: null }, 'plain', 'Accepted, not used yet'],
    [{ lastMadeAt: null, unaware: 1, checks: 1 }, 'plain', 'Accepted, not used yet'],
    [{ needs: [need] }, 'wait', 'Replaced, still needed'],
    [{}, 'plain', 'Replaced, can be removed'],
    [{ needs: [need], unaware: 1, checks: 1 }, 'bad', 'Missing in 1 process'],
    [{ makes: 1, checks: 0, unaware: 2 }, 'bad', 'Missing in 2 processes'],
  ])('%j is %s: %s', (changes, tone, text) => {
    expect(secretState({ ...secret, ...changes })).toEqual({ tone, text });
  });
});

describe('the state of a token or key', () => {
  it.each([
    [{}, 'good', 'Accepted'],
    [{ accepts: 1, unaware: 1 }, 'wait', 'Accepted by 1 process of 2'],
    [{ accepts: 1, unaware: 1, lastUsedAt: AT }, 'bad', 'Accepted by 1 process of 2'],
  ])('%j is %s: %s', (changes, tone, text) => {
    expect(acceptedState({ ...accepted, ...changes })).toEqual({ tone, text });
  });
});
