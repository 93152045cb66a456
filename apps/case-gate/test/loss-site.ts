import { afterAll, beforeAll, expect } from '@jest/globals';
import { until } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS, type RunningGate } from './running-gate.ts';

export const UNCONFIRMED = 'deny ELIGIBILITY_UNCONFIRMED';

export type LossSite = Awaited<ReturnType<typeof lossSite>>;

/** A site whose ledger loses records, and helpers for tests of that. */
async function lossSite() {
  const site = await gateSite();
  /** A process that the tests use only explicitly. */
  const other = await site.replica();
  const { key } = site;
  const run = (text: string, values: unknown[] = []) => site.sql.query({ text, values });
  const rowOf = async (subjectRef: string) =>
    (await run('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]))[0] as {
      record_version: number;
      document: string;
      changed_at: Date;
    };
  const changedMs = async (subjectRef: string) => (await rowOf(subjectRef)).changed_at.getTime();

  let epoch = 0;
  /** The state left by `declare_loss` once the channel resumes: everything written later may be lost. */
  const declare = async (keptAtMs: number): Promise<void> => {
    epoch += 1;
    await run(
      `WITH c AS (UPDATE ledger.channels SET epoch = $1 WHERE channel = 'gate.seals' RETURNING channel_id, size)
       INSERT INTO ledger.epochs (channel_id, epoch, tree_id, first_index, lost_until, kept_at_ms, statement, leaf_hash,
         declared_by, declared_at)
       SELECT channel_id, $1, nextval(pg_get_serial_sequence('ledger.channels', 'channel_id')), size, size, $2, s,
         sha256('\\x00'::bytea || convert_to(s, 'UTF8')), session_user, clock_timestamp()
       FROM c, (SELECT '{"lost":[]}') statement (s)`,
      [epoch, keptAtMs],
    );
  };

  /** The ledger records of a name, except seals. */
  const inLedger = async (name: string) =>
    (
      await run(`SELECT data FROM ledger.records WHERE data LIKE $1 AND type <> 'case.seal' ORDER BY idx`, [
        `%"${name}"%`,
      ])
    ).map(({ data }) => JSON.parse(String(data)));
  const versionsInLedger = async (name: string) =>
    (await inLedger(name)).map((data) => data.record_version).sort((a: number, b: number) => a - b);
  const ledgerHas = (name: string, version: number) =>
    until(async () => (await versionsInLedger(name)).includes(version), { timeoutMs: 10_000 });

  /** Removes the records of this name, from a version on, from the ledger. */
  const lose = async (name: string, fromVersion: number): Promise<void> => {
    const lost = `SELECT channel_id, idx FROM ledger.records
      WHERE data LIKE $1 AND type <> 'case.seal' AND (data::jsonb->>'record_version')::integer >= $2`;
    const values = [`%"${name}"%`, fromVersion];
    await run(`DELETE FROM ledger.ids WHERE (channel_id, idx) IN (${lost})`, values);
    await run(`DELETE FROM ledger.records WHERE (channel_id, idx) IN (${lost})`, values);
  };

  /** Runs `change`, then removes every trace of it from the database, as restoring an older backup does. */
  const rolledBack = async (table: string, where: string, change: () => Promise<void>): Promise<void> => {
    const before = (await run(`SELECT to_jsonb(t) AS row FROM gate.${table} t WHERE ${where}`))[0]!['row'];
    await change();
    await run(`DELETE FROM gate.${table} WHERE ${where}`);
    await run(`INSERT INTO gate.${table} SELECT * FROM jsonb_populate_record(NULL::gate.${table}, $1)`, [
      JSON.stringify(before),
    ]);
  };

  const listed = async (subjectRef: string) => {
    const { body } = await site.admin('GET', '/unconfirmed-subjects?limit=200');
    return (body.items as { subject_ref: string }[]).find((row) => row.subject_ref === subjectRef);
  };
  const isListed = (subjectRef: string) =>
    until(async () => (await listed(subjectRef)) !== undefined, { timeoutMs: 10_000 });
  const confirm = (subjectRef: string, version: number, more: object = {}) =>
    site.admin('POST', `/subjects/${subjectRef}/confirm`, { record_version: version, reason: 'Case file', ...more });
  const becomes = (gate: RunningGate, subjectRef: string, answer: string) =>
    until(async () => (await check(gate, key, subjectRef)) === answer, { timeoutMs: 5000 });

  /** Two approved subjects, one changed before and one after the declared loss. */
  const oneBeforeOneSince = async (): Promise<{ before: string; since: string }> => {
    const { subjectRef: before } = await sealedCase(site, key);
    await ledgerHas(before, 2);
    const keptAtMs = await changedMs(before);
    await until(() => Date.now() > keptAtMs + 5);
    const { subjectRef: since } = await sealedCase(site, key);
    await ledgerHas(since, 2);
    for (const gate of [site, other]) expect(await check(gate, key, since)).toBe('allow ELIGIBLE');
    await declare(keptAtMs);
    return { before, since };
  };
  const asked = {
    run,
    rowOf,
    changedMs,
    declare,
    inLedger,
    versionsInLedger,
    ledgerHas,
    lose,
    rolledBack,
    listed,
    isListed,
    confirm,
    becomes,
    oneBeforeOneSince,
  };
  return { ...asked, site, other, key, newestEpoch: () => epoch };
}

/** Runs the tests of a file on one such site, which `made` receives before the first. */
export function onLossSite(made: (at: LossSite) => void): void {
  let at: LossSite;
  beforeAll(async () => {
    at = await lossSite();
    made(at);
  }, SETUP_MS);
  afterAll(() => at.site.stop(), SETUP_MS);
}
