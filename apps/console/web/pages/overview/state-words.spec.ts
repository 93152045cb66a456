import { describe, expect, it } from '@jest/globals';
import { stateInWords } from './state-words.ts';

describe('the state of a service in words', () => {
  it('explains where limits are counted, and what waits', () => {
    const checks = { status: 'ready', limits: 'shared', connections: { write: 4 } };
    expect(stateInWords(checks, { risk_anchors_waiting: 3, ledger_waiting_units: 0 })).toEqual([
      'Rate limits: all processes of the service count together (Redis answers).',
      'Approved fingerprints that are not in the ledger yet: 3',
    ]);
    expect(stateInWords({ limits: 'local' })).toEqual([
      'Rate limits: each process counts alone, at its share of the rate (no Redis, or it does not answer).',
    ]);
  });

  it('shows what it does not know as the service says it', () => {
    expect(stateInWords({ problem: 'the database does not answer', limits: 'other' }, { new_gauge: 2 })).toEqual([
      'problem: the database does not answer',
      'limits: other',
      'new_gauge: 2',
    ]);
  });
});
