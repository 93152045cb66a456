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
    ['active', null, 'active', false],
    ['active', createdAt, 'failing', false],
    ['paused', createdAt, 'paused', true],
    ['stopped', createdAt, 'stopped', true],
  ] as const)('that is %s, failing since %s, is %s, and paused: %s', (stored, failingSince, state, paused) => {
    const row = subscriptionRow({ ...kept, state: stored, failingSince }, new Map());
    expect(row).toMatchObject({ state, paused, failingSince });
  });
});
