import { describe, expect, it } from '@jest/globals';
import { Metrics, type Log } from '@sealgate/observability';
import { fabricObserver } from './fabric-observer.ts';

const state = {
  calls: 3,
  window: 200,
  queued: 4,
  queueAgeMs: 1500,
  unsettled: 5,
  oldestUnsettledMs: 2500,
  streams: 2,
};

function observed() {
  const metrics = new Metrics('gateway', { unknownLabels: 'throw', processMetrics: false });
  const warned: unknown[] = [];
  const silent = () => undefined;
  const log: Log = {
    error: silent,
    warn: (event, fields) => void warned.push([event, fields]),
    info: silent,
    debug: silent,
    child: () => log,
  };
  return { metrics, warned, observer: fabricObserver(metrics, log, () => state) };
}

const lineOf = async (metrics: Metrics, begin: string): Promise<string | undefined> =>
  (await metrics.text()).split('\n').find((line) => line.startsWith(begin));

describe('the metrics of a Fabric client', () => {
  it('read its state when they are scraped, times in seconds', async () => {
    const { metrics } = observed();
    const expected = {
      ledger_gateway_calls: 3,
      ledger_window: 200,
      ledger_queue_length: 4,
      ledger_queue_age_seconds: 1.5,
      ledger_unsettled_transactions: 5,
      ledger_unsettled_age_seconds: 2.5,
      ledger_block_streams: 2,
    };
    for (const [name, value] of Object.entries(expected)) {
      expect(await lineOf(metrics, `${name}{`)).toBe(`${name}{service="gateway"} ${value}`);
    }
  });

  it('count phases, outcomes, retries and validation codes, with rare codes as other', async () => {
    const { metrics, observer } = observed();
    observer.phase?.('submit', false, 250);
    observer.outcome?.('unknown');
    observer.retried?.('resend');
    observer.validated?.('MVCC_READ_CONFLICT');
    observer.validated?.('BAD_HEADER_EXTENSION');
    expect(await lineOf(metrics, 'ledger_phase_duration_seconds_sum{')).toMatch(/phase="submit".* 0\.25$/);
    expect(await lineOf(metrics, 'ledger_submits_total{')).toMatch(/outcome="unknown".* 1$/);
    expect(await lineOf(metrics, 'ledger_retries_total{')).toMatch(/reason="resend".* 1$/);
    expect(await metrics.text()).toMatch(/codes_total\{code="MVCC_READ_CONFLICT",service="gateway"\} 1\n/);
    expect(await metrics.text()).toMatch(/codes_total\{code="other",service="gateway"\} 1\n/);
  });

  it('log problems that heal by themselves', () => {
    const { observer, warned } = observed();
    observer.problem?.('peer_away', 'peer:7051: gone');
    expect(warned).toEqual([['ledger_problem', { what: 'peer_away', detail: 'peer:7051: gone' }]]);
  });
});
