import { describe, expect, it } from '@jest/globals';
import { decisionHash } from '@sealgate/envelope';
import type { DecisionHead } from '@sealgate/envelope';
import { runCli } from './cli.ts';
import { checkDecisions } from './check-decisions.ts';
import { headsOf, linesOf, saved, type Line } from './testing/sample-decisions.ts';
import { at, CHANNEL, sampleLog } from './testing/sample-log.ts';

async function judged(lines: readonly Line[], heads: readonly DecisionHead[], more: { from?: string } = {}) {
  const { input } = await saved(lines, heads);
  const { verified, steps, notes } = await checkDecisions({ ...input, ...more });
  const faults = steps.filter(({ status }) => status === 'failed').map(({ step, detail }) => `${step}: ${detail}`);
  return { verified, faults, notes };
}

describe('a decision log', () => {
  const lines = linesOf('p1', 9);
  const heads = headsOf(lines, [4, 9]);
  const without = (...seqs: number[]) => lines.filter(({ seq }) => !seqs.includes(seq));
  const fault = async (changed: readonly Line[], of = heads) => (await judged(changed, of)).faults;

  it('passes if every decision is present and unchanged, also of several processes', async () => {
    expect(await judged(lines, heads)).toEqual({ verified: true, faults: [], notes: [] });
    const other = linesOf('p2', 3);
    const all = await judged([...lines, ...other], [...heads, ...headsOf(other, [2, 3])]);
    expect(all).toEqual({ verified: true, faults: [], notes: [] });
  });

  it('names a missing decision: in the middle, at a head, the first, the last', async () => {
    expect(await fault(without(3))).toEqual(['missing: Decision 3 of process p1 is missing from the log.']);
    expect(await fault(without(4, 5))).toEqual(['missing: Decisions 4 to 5 of process p1 are missing from the log.']);
    expect(await fault(without(1))).toEqual(['missing: Decision 1 of process p1 is missing from the log.']);
    expect(await fault(without(8, 9))).toEqual(['missing: Decisions 8 to 9 of process p1 are missing from the log.']);
    expect(await fault([])).toEqual(['missing: Decisions 1 to 9 of process p1 are missing from the log.']);
  });

  it('names a decision with any changed member', async () => {
    const changes: Partial<Line>[] = [
      { decision: 'allow' },
      { reason_codes: ['ELIGIBLE'] },
      { evaluated_at: '2030-01-02T03:04:05.679Z' },
      { subject_ref: null },
      { record_version: 2 },
      { hash: 'ab'.repeat(32) },
      { hash: null },
    ];
    for (const change of changes) {
      const found = await fault(lines.map((line) => (line.seq === 6 ? { ...line, ...change } : line)));
      expect(found[0]).toMatch(/^changed: gd_p1_6 /);
    }
  });

  it('names the part that was changed and rehashed', async () => {
    const anew = linesOf('p1', 9).map((line) => ({ ...line, venue_id: 'elsewhere' }));
    for (const [index, line] of anew.entries())
      anew[index] = { ...line, hash: decisionHash(line, anew[index - 1]?.hash ?? null) };
    // After the head the chain continues from the hash in the ledger.
    expect(await fault(anew)).toEqual([
      expect.stringMatching(/^changed: Decisions 1 to 4 of process p1 do not lead to head 1 in the ledger/),
      expect.stringMatching(/^changed: gd_p1_5 /),
    ]);
  });

  it('names duplicates, wrong order, swapped decisions, and decisions after the end', async () => {
    expect(await fault([...lines.slice(0, 3), at(lines, 2), ...lines.slice(3)])).toEqual([
      'doubled: gd_p1_3 is there more than once.',
    ]);
    expect(await fault([...without(3).slice(0, 4), at(lines, 2), ...lines.slice(5)])).toEqual([
      'order: gd_p1_3 comes after later decisions.',
    ]);
    const exchanged = lines.map((line) => {
      const other = at(lines, line.seq === 2 ? 2 : line.seq === 3 ? 1 : line.seq - 1);
      return { ...other, seq: line.seq };
    });
    expect((await fault(exchanged))[0]).toMatch(/^changed: gd_p1_3 /);
    const longer = linesOf('p1', 10);
    expect(await fault(longer)).toEqual([
      'added: gd_p1_10 comes after the last head of its process, which marks the end.',
    ]);
  });

  it('reports decisions that are not sealed yet, without calling any missing', async () => {
    const running = await judged(lines, headsOf(lines, [4], false));
    expect(running).toMatchObject({ verified: true, faults: [] });
    expect(running.notes).toEqual([
      'Process p1 has no final head: it is still running, or its decisions after number 9 were lost with it. 5 decisions come after its last head and are not proved yet.',
    ]);
    const crashed = await judged(lines.slice(0, 4), headsOf(lines, [4], false));
    expect(crashed).toMatchObject({ verified: true, faults: [] });
    const old = linesOf('p0', 2).map((line) => ({ ...line, hash: null }));
    expect(await judged([...old, ...lines], heads)).toMatchObject({
      verified: true,
      notes: ['1 processes have no head: their decisions are not proved.'],
    });
  });

  it('reports dropped decisions as dropped, and continues the chain after them', async () => {
    const [first, second] = [at(heads, 0), at(heads, 1)];
    const dropped = { ...second, dropped: [{ first_seq: 6, last_seq: 7, hash: at(lines, 6).hash! }] };
    expect(await fault(without(6, 7), [first, dropped])).toEqual([
      'dropped: Decisions 6 to 7 of process p1 could not be written and were dropped, according to its head.',
    ]);
    const changed = without(6, 7).map((line) => (line.seq === 8 ? { ...line, venue_id: 'x' } : line));
    expect((await fault(changed, [first, dropped]))[0]).toMatch(/^changed: gd_p1_8 /);
  });

  it('rejects heads that are missing, duplicate, not contiguous, in another channel, not heads, or not proved', async () => {
    const three = headsOf(lines, [3, 6, 9]);
    expect((await fault(lines, [at(three, 0), at(three, 2)]))[0]).toBe(
      'heads: Heads 2 to 2 of process p1 are missing.',
    );
    expect((await fault(lines, [at(three, 0), ...three]))[0]).toMatch(/Head 1 of process p1 is there more than once/);
    const bent = { ...at(three, 1), prev_hash: at(lines, 0).hash };
    expect((await fault(lines, [at(three, 0), bent, at(three, 2)]))[0]).toMatch(/does not go on where/);
    expect(await fault(lines, [])).toEqual(['heads: There are no heads to compare with.']);
    const { input } = await saved(lines, heads);
    expect((await checkDecisions({ ...input, channel: 'demo.other' })).conclusion).toContain('heads');
    const { input: others } = await saved(lines, heads, 'case.seal');
    expect((await checkDecisions(others)).verified).toBe(false);
    const stranger = sampleLog(1).verifier;
    expect((await checkDecisions({ ...input, verifier: stranger })).conclusion).toContain('signature');
  });

  it('excludes decisions covered by heads before a time', async () => {
    const from = '2030-01-02T03:01:00.000Z';
    const kept = await judged(lines.slice(4), heads, { from });
    expect(kept).toMatchObject({ verified: true, faults: [] });
    const partly = await judged(lines.slice(2), heads, { from });
    expect(partly).toMatchObject({ verified: true, notes: ['2 decisions before the first head were not checked.'] });
    expect((await judged(lines.slice(5), heads, { from })).faults).toEqual([
      'missing: Decision 5 of process p1 is missing from the log.',
    ]);
  });

  it('is checked by a command with exit codes', async () => {
    const run = async (directory: string, ...more: string[]) => {
      let text = '';
      const take = (part: string) => void (text += part);
      const key = ['--key', 'log.vkey'];
      const code = await runCli(['decisions', 'decisions.ndjson', 'heads.ndjson', ...key, ...more], {
        out: take,
        err: take,
        directory,
      });
      return { code, text };
    };
    const good = await saved(lines, heads);
    expect(await run(good.directory, '--log', 'copy')).toMatchObject({ code: 0 });
    expect((await run(good.directory, '--log', 'nowhere')).code).toBe(2);
    expect(await run(good.directory, '--channel', CHANNEL)).toMatchObject({
      code: 0,
      text: expect.stringContaining('All 9 decisions that 2 heads of 1 processes cover are there'),
    });
    const bad = await saved(without(2), heads);
    expect(await run(bad.directory)).toMatchObject({
      code: 1,
      text: expect.stringContaining('Decision 2 of process p1'),
    });
    expect((await run(good.directory, '--from', '2020-01-01t00:00:00.123456789z')).code).toBe(0);
    for (const wrong of ['yesterday', '2020-01-01', '2020-01-01T00:00:00.1234567890123Z'])
      expect((await run(good.directory, '--from', wrong)).code).toBe(2);
    expect((await run('/nowhere')).code).toBe(2);
  });
});
