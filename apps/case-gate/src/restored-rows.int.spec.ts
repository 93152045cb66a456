import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
let subjectRef: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
beforeEach(async () => {
  ({ subjectRef } = await sealedCase(site, key));
  expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
});
afterAll(() => site.stop());

const edit = (text: string, values: unknown[] = []) => site.sql.query({ text, values });

describe('a revocation known to the ledger', () => {
  const inLedger = (version: number) =>
    until(
      async () => {
        const rows = await edit(`SELECT data FROM ledger.records WHERE type = 'eligibility.record' AND data LIKE $1`, [
          `%"${subjectRef}"%`,
        ]);
        return rows.some(({ data }) => JSON.parse(String(data)).record_version === version);
      },
      { timeoutMs: 10_000 },
    );
  /** Revokes, then removes every trace of it from the tables of the gate. */
  const revokeAndPutBack = async () => {
    const [before] = await edit('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    await inLedger(3);
    await edit('DELETE FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
    await edit('INSERT INTO gate.eligibility SELECT * FROM jsonb_populate_record(NULL::gate.eligibility, $1)', [
      JSON.stringify(before),
    ]);
    await edit('DELETE FROM gate.eligibility_history WHERE subject_ref = $1 AND record_version > 2', [subjectRef]);
  };

  it('is not undone by restoring everything, for a process started later: it asks the ledger', async () => {
    await revokeAndPutBack();
    const later = await site.replica();
    expect(await check(later, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    expect(await check(later, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    // And the operator is told.
    await until(() => later.logLines.some((line) => line.includes('record_not_intact') && line.includes(subjectRef)));
  });

  it('is not undone by restoring everything, for a replica that allowed the subject before', async () => {
    const replica = await site.replica();
    expect(await check(replica, key, subjectRef)).toBe('allow ELIGIBLE');
    await revokeAndPutBack();
    await until(async () => (await check(replica, key, subjectRef)) === 'deny RECORD_INTEGRITY_FAILED');
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await check(replica, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    }
  });

  it('is not undone by changing restored rows: the ledger holds another record of that version', async () => {
    await revokeAndPutBack();
    const later = await site.replica();
    await sealedCase(later, key, { create: { subject_ref: subjectRef } });
    expect(await check(await site.replica(), key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  });

  it('affects no other subject for a process started later', async () => {
    await revokeAndPutBack();
    const later = await site.replica();
    const { subjectRef: other } = await sealedCase(site, key);
    const answers = await Promise.all([subjectRef, other].map((each) => check(later, key, each)));
    expect(answers).toEqual(['deny RECORD_INTEGRITY_FAILED', 'allow ELIGIBLE']);
  });

  it('denies everybody while the ledger does not answer', async () => {
    const later = await site.replica();
    await site.sql.transaction(async (sql) => {
      await sql.query({ text: 'LOCK TABLE ledger.ids IN ACCESS EXCLUSIVE MODE' });
      expect(await check(later, key, subjectRef)).toBe('deny BACKEND_UNAVAILABLE');
    });
    await until(async () => (await check(later, key, subjectRef)) === 'allow ELIGIBLE');
  });
});

describe('a subject new to a process that knows the key', () => {
  /** A replica that has met the key and the venue with another subject. */
  const replica = async () => {
    const { subjectRef: other } = await sealedCase(site, key);
    const made = await site.replica();
    expect(await check(made, key, other)).toBe('allow ELIGIBLE');
    return made;
  };
  const recordOf = (version: number) => [`%"record_version":${version},%"${subjectRef}"%`];
  const isInLedger = (version: number) =>
    until(async () => (await edit('SELECT FROM ledger.records WHERE data LIKE $1', recordOf(version))).length === 1, {
      timeoutMs: 10_000,
    });

  it('is denied if the ledger holds other content under its version', async () => {
    await isInLedger(2);
    await edit(`UPDATE ledger.records SET data = replace(data, '"v":1', '"v":2') WHERE data LIKE $1`, recordOf(2));
    const made = await replica();
    expect(await check(made, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    // Other subjects in the same batch are allowed.
    const { subjectRef: other } = await sealedCase(site, key);
    const answers = await Promise.all([subjectRef, other].map((each) => check(made, key, each)));
    expect(answers).toEqual(['deny RECORD_INTEGRITY_FAILED', 'allow ELIGIBLE']);
  });

  it('is denied if the ledger holds a later version', async () => {
    const made = await replica();
    const [before] = await edit('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
    await site.admin('POST', `/subjects/${subjectRef}/suspend`, { reason: 'Dispute' });
    await isInLedger(3);
    await edit(
      `UPDATE gate.eligibility e SET record_version = b.record_version, status = b.status, document = b.document,
              changed_at = b.changed_at, mac = b.mac
         FROM jsonb_populate_record(NULL::gate.eligibility, $1) b
        WHERE e.environment = b.environment AND e.subject_ref = b.subject_ref`,
      [JSON.stringify(before)],
    );
    await edit('DELETE FROM gate.eligibility_history WHERE subject_ref = $1 AND record_version > 2', [subjectRef]);
    expect(await check(made, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  });
});
