import { describe, expect, it } from '@jest/globals';
import { LedgerForbiddenError, LedgerUnavailableError, type AuditReport } from '@sealgate/ledger-port';
import { testClock, testIds } from '@sealgate/testing';
import { AuditRuns, auditRunRow } from './audit-runs.ts';

const report: AuditReport = { ok: true, size: 12, firstBadRecordId: null, problem: null };

function runsOf() {
  const clock = testClock();
  const ends = new Map<string, (report: AuditReport | Error) => void>();
  const tell = new Map<string, (records: number) => void>();
  const ledger: ConstructorParameters<typeof AuditRuns>[0] = {
    audit: (channel, _signal, onWalked) =>
      new Promise((resolve, reject) => {
        tell.set(channel, onWalked!);
        ends.set(channel, (end) => (end instanceof Error ? reject(end) : resolve(end)));
      }),
  };
  const runs = new AuditRuns(ledger, clock.now, testIds());
  const end = async (channel: string, as: AuditReport | Error = report) => {
    ends.get(channel)!(as);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { runs, clock, tell, end };
}

describe('background audits', () => {
  it('report progress, and the result at the end', async () => {
    const { runs, clock, tell, end } = runsOf();
    const { auditId } = runs.begin('acme.main', 12);
    tell.get('acme.main')!(8);
    expect(runs.find('acme.main', auditId)).toMatchObject({
      walked: 8,
      size: 12,
      endedAtMs: undefined,
      report: undefined,
    });
    clock.advance(5000);
    await end('acme.main');
    expect(runs.find('acme.main', auditId)).toMatchObject({ endedAtMs: clock.now(), report });
    expect(runs.find('acme.other', auditId)).toBeUndefined();
  });

  it('join the running audit of the channel, and start a new one after its end', async () => {
    const { runs, end } = runsOf();
    const first = runs.begin('acme.main', 12);
    expect(runs.begin('acme.main', 13)).toBe(first);
    await end('acme.main');
    expect(runs.begin('acme.main', 13)).not.toBe(first);
  });

  it.each([
    [new LedgerUnavailableError('The ledger cannot be reached.'), 'The ledger cannot be reached.'],
    [
      new LedgerForbiddenError('may not audit'),
      'The database role of this listener has no access to this channel: see ADMIN_DATABASE_URL.',
    ],
    [new Error('a bug'), 'The audit failed; see the log of the service.'],
  ])('fail without a report, and with the reason: %s', async (error, failure) => {
    const { runs, clock, end } = runsOf();
    const run = runs.begin('acme.main', 12);
    await end('acme.main', error);
    expect(run).toMatchObject({ endedAtMs: clock.now(), report: undefined });
    expect(auditRunRow(run)).toMatchObject({ status: 'failed', report: null, failure });
  });

  it('refuse a third concurrent run, and drop the oldest of more than a hundred finished runs', async () => {
    const { runs, end } = runsOf();
    const first = runs.begin('a', 1);
    runs.begin('b', 1);
    expect(() => runs.begin('c', 1)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
    await end('a');
    for (let n = 0; n < 100; n += 1) {
      runs.begin('c', 1);
      await end('c');
    }
    runs.begin('c', 1);
    expect(runs.find('a', first.auditId)).toBeUndefined();
  });
});
