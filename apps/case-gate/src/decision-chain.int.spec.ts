import { spawnSync } from 'node:child_process';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decisionHash, type ChainedDecision } from '@sealgate/envelope';
import { until } from '@sealgate/testing';
import { gateSite, check, SETUP_MS, type RunningGate } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let folder: string;
beforeAll(async () => {
  site = await gateSite();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-decisions-'));
}, SETUP_MS);
afterAll(async () => {
  await site.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Report {
  readonly verified: boolean;
  readonly conclusion: string;
  readonly steps: readonly { readonly step: string; readonly status: string; readonly detail: string }[];
}

/** All pages of a list of the admin listener. */
async function listed(path: string): Promise<{ process?: string }[]> {
  const items: { process?: string }[] = [];
  for (let cursor = ''; ;) {
    const { status, body, text } = await site.admin('GET', `${path}?limit=5${cursor}`);
    if (status !== 200) throw new Error(text);
    items.push(...body.items);
    if (body.nextCursor === null) return items;
    cursor = `&cursor=${body.nextCursor}`;
  }
}

/** What an auditor saves and verifies: the heads first, then the log. */
async function audited() {
  const save = (name: string, rows: readonly unknown[]) => {
    writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return join(folder, name);
  };
  const heads = save('heads.ndjson', await listed('/decision-heads'));
  const decisions = save('decisions.ndjson', await listed('/decision-log'));
  const bin = join(import.meta.dirname, '../../../tools/verify/bin/sealgate-verify.mjs');
  const checked = ['--key', site.verifierKey, '--channel', 'gate.seals', '--json'];
  const { stdout } = spawnSync(process.execPath, [bin, 'decisions', decisions, heads, ...checked], {
    encoding: 'utf8',
  });
  const report = JSON.parse(stdout) as Report;
  const faults = report.steps
    .filter(({ status }) => status === 'failed')
    .map(({ step, detail }) => `${step}: ${detail}`);
  return { verified: report.verified, faults, conclusion: report.conclusion };
}

/** Sends `count` checks and stops the process cleanly. */
async function decideAndEnd(gate: RunningGate, count: number): Promise<void> {
  for (let asked = 0; asked < count; asked += 1) await check(gate, site.key, `subj_${asked}`);
  await gate.stop();
}

const headCount = async () => (await listed('/decision-heads')).length;

describe('the log of decisions', () => {
  it('is proved by heads in the ledger, and removed or changed decisions are named', async () => {
    await decideAndEnd(await site.replica(), 7);
    await until(async () => (await headCount()) === 1);
    expect(await audited()).toMatchObject({
      verified: true,
      conclusion: 'All 7 decisions that 1 heads of 1 processes cover are there, unchanged and in order.',
    });
    const [{ process } = { process: '' }] = await listed('/decision-log');
    const sql = (text: string) => site.sql.query({ text, values: [process] });
    await sql(`UPDATE gate.gate_decisions SET decision = 'allow' WHERE process = $1 AND seq = 5`);
    expect((await audited()).faults).toEqual([`changed: gd_${process}_0000000005 is not what was decided.`]);
    await sql(`DELETE FROM gate.gate_decisions WHERE process = $1 AND seq = 5`);
    expect((await audited()).faults).toEqual([`missing: Decision 5 of process ${process} is missing from the log.`]);
    await sql(`DELETE FROM gate.gate_decisions WHERE process = $1`);
    expect((await audited()).faults).toEqual([
      `missing: Decisions 1 to 7 of process ${process} are missing from the log.`,
    ]);
    const { body } = await site.admin('GET', `/decision-heads?process=${process}`);
    expect(body.items).toHaveLength(1);
    expect((await site.admin('GET', '/decision-heads?process=nobody')).body.items).toEqual([]);
  });

  it('writes each head to the ledger once, even if another process sends it again', async () => {
    const before = await headCount();
    await decideAndEnd(await site.replica(), 3);
    await until(async () => (await headCount()) === before + 1);
    const heads = (await listed('/decision-heads')) as { record: { id: string; type: string; data: object } }[];
    const { id, type, data } = heads.at(-1)!.record;
    // As after a crash between the ledger's answer and the removal of the outbox entry.
    await site.sql.query({
      text: `INSERT INTO gate.outbox (record_id, record_type, data, next_attempt_at) VALUES ($1, $2, $3, now())`,
      values: [id, type, JSON.stringify(data)],
    });
    await until(async () => (await site.sql.query({ text: 'SELECT 1 FROM gate.outbox' })).length === 0);
    expect(await headCount()).toBe(before + 1);
    expect(site.logLines.filter((line) => line.includes('ledger_record_conflict'))).toEqual([]);
  });

  it('proves one decision by those that follow it to the head, at any place, and none that no head covers', async () => {
    const gate = await site.replica();
    const before = await headCount();
    for (let asked = 0; asked < 5; asked += 1) await check(gate, site.key, `subj_proved_${asked}`);
    const of = async () =>
      (await site.admin('GET', '/decisions?subject_ref=subj_proved_0')).body.items as { process: string }[];
    await until(async () => (await of()).length === 1);
    const [{ process } = { process: '' }] = await of();
    const proofOf = (seq: number) =>
      site.admin('GET', `/decisions/gd_${process}_${String(seq).padStart(10, '0')}/proof`);
    expect(await proofOf(1)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    await gate.stop();
    await until(async () => (await headCount()) === before + 1);
    for (const seq of [1, 3, 5]) {
      const { status, body } = await proofOf(seq);
      expect([status, body.decision.seq, body.following.length]).toEqual([200, seq, 5 - seq]);
      expect(body.prev_hash === null).toBe(seq === 1);
      const links = [body.decision, ...body.following] as ChainedDecision[];
      expect(links.reduce<string | null>((hash, link) => decisionHash(link, hash), body.prev_hash)).toBe(
        body.record.data.hash,
      );
      expect(body.receipt).toMatchObject({ id: body.record.id, type: 'gate.decisions' });
    }
    expect((await proofOf(6)).status).toBe(404);
  });
});
