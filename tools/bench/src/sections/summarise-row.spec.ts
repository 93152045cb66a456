import { describe, expect, it } from '@jest/globals';
import { whyWithheld } from './summarise-row.ts';

const on = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };
const good = {
  rows: [{ name: 'a', refused: 0, unanswered: 0, firstProblem: null }],
  ledgered: [{ name: 'a', acknowledged: 500, inLedger: 500, settings: on }],
  machine: { inMemory: false },
};

describe('whyWithheld', () => {
  it('accepts a durable run whose ledger contains the acknowledged records', () => {
    expect(whyWithheld(good)).toEqual([]);
  });

  it.each([
    [
      'fewer records than acknowledged',
      { ...good.ledgered[0]!, inLedger: 499 },
      'a: 500 records were acknowledged, the ledger holds 499.',
    ],
    [
      'more records than acknowledged',
      { ...good.ledgered[0]!, inLedger: 501 },
      'a: 500 records were acknowledged, the ledger holds 501.',
    ],
    ['fsync off', { ...good.ledgered[0]!, settings: { ...on, fsync: 'off' } }, 'PostgreSQL: fsync is off.'],
    [
      'weaker commits',
      { ...good.ledgered[0]!, settings: { ...on, synchronous_commit: 'local' } },
      'PostgreSQL: synchronous_commit is local.',
    ],
    [
      'torn pages',
      { ...good.ledgered[0]!, settings: { ...on, full_page_writes: 'off' } },
      'PostgreSQL: full_page_writes is off.',
    ],
    ['an unknown setting', { ...good.ledgered[0]!, settings: {} }, 'PostgreSQL: fsync is undefined.'],
  ])('names %s', (_, ledgered, reason) => {
    expect(whyWithheld({ ...good, ledgered: [ledgered] })).toContain(reason);
  });

  it('names refused and unanswered requests, of a baseline too', () => {
    const rows = [{ name: 'echo', refused: 2, unanswered: 1, firstProblem: 'ECONNRESET' }];
    expect(whyWithheld({ ...good, rows })).toEqual([
      'echo: 2 answers were not 200.',
      'echo: 1 requests had no answer (ECONNRESET).',
    ]);
  });

  it('reports data in memory', () => {
    expect(whyWithheld({ ...good, machine: { inMemory: true } })[0]).toContain('in memory');
  });
});
