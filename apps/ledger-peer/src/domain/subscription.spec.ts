import { describe, expect, it } from '@jest/globals';
import { subscriptionRow, type Subscription } from './subscription.ts';

const createdAt = '2030-01-02T03:04:05.678Z';
const kept: Subscription = {
  ...{ subscriptionId: 'sub_1', url: 'https://hooks.example.com/', channel: 'acme.main', types: null, events: null },
  secrets: ['k1', 'k2'].map((id) => ({ id, sealed: `sealed ${id}`, createdAt })),
  ...{ cursor: 'c', state: 'active', failingSince: null, attempts: 0, problem: null, deliveredAt: null },
  ...{ createdAt, changedAt: createdAt },
};

describe('a subscription as operators see it', () => {
  it('has the values of secrets that were made for this answer, and no other', () => {
    const row = subscriptionRow(kept, new Map([['k2', 'whsec_new']]));
    expect(row.secrets).toEqual([
      { id: 'k1', createdAt },
      { id: 'k2', createdAt, value: 'whsec_new' },
    ]);
    expect(JSON.stringify(row)).not.toContain('sealed');
  });

  it.each([
    ['active', false],
    ['paused', true],
    ['stopped', true],
  ] as const)('that is %s says so, and whether it is paused: %s', (state, paused) => {
    expect(subscriptionRow({ ...kept, state }, new Map())).toMatchObject({ state, paused });
  });
});
