import { describe, expect, it } from '@jest/globals';
import { UnreadableError } from './shape.ts';
import { sampleLog } from './testing/sample-log.ts';
import { check, failures, type Files, log } from './testing/tampered-log.ts';

describe('saved checkpoints', () => {
  it('all cover prefixes of the log', async () => {
    const saved = (files: Files) => {
      for (const size of [0, 1, 255, 256, 300, 600]) files.set(`saved/${size}`, log.checkpoint(size));
      files.set('saved/.hidden', 'x').set('saved/301.tmp', 'torn');
    };
    const report = await check(saved, { saved: ['saved'] });
    expect(report.verified).toBe(true);
    expect(report.steps.filter(({ step, status }) => step === 'saved' && status === 'ok')).toHaveLength(6);
  });

  it("are read in the ledger's format: a folder per channel, a file per day, a truncated line after a crash", async () => {
    const line = (size: number) =>
      `${JSON.stringify({ savedAt: '2026-01-01T00:00:00.000Z', note: log.checkpoint(size) })}\n`;
    const day = (text: string) => (files: Files) => {
      files.set('kept/demo.main/2026-01-01.ndjson', text);
      files.set('kept/demo.other/2026-01-01.ndjson', 'not of this channel');
    };
    const text = line(1) + line(300) + line(300) + '{"savedAt":"2026-';
    const report = await check(day(text), { saved: ['kept'] });
    expect(report.verified).toBe(true);
    expect(report.steps.at(-1)?.detail).toMatch(
      /^2 checkpoints in .*2026-01-01\.ndjson: all of the past of this log\.$/,
    );
    expect(report.notes.join()).toContain('1 lines hold no checkpoint');
    const edited = line(1) + line(300).replace('\\n300\\n', '\\n299\\n') + line(2);
    const found = await failures(day(edited), { saved: ['kept'] });
    expect(found).toMatchObject([{ step: 'saved signature' }]);
    const fork = sampleLog(601, { key: log.key, entries: log.entries.slice(0, 10) });
    const forked = JSON.stringify({ note: fork.checkpoint(20) });
    expect(await failures(day(line(1) + forked), { saved: ['kept'] })).toMatchObject([{ step: 'saved' }]);
  });

  it('reveal a rollback of the log', async () => {
    const old = sampleLog(500, { key: log.key, entries: log.entries.slice(0, 500) });
    const found = await failures((files) => files.set('saved', log.checkpoint(501)), { of: old, saved: ['saved'] });
    expect(found).toEqual([
      { step: 'saved', detail: 'The log is behind a checkpoint that was saved: entries that were signed are gone.' },
    ]);
  });

  it('must be signed, and of this channel', async () => {
    const edited = log.checkpoint(5).replace('\n5\n', '\n4\n');
    const steps = async (note: string) =>
      (await failures((files) => files.set('saved', note), { saved: ['saved'] })).map(({ step }) => step);
    expect(await steps(edited)).toEqual(['saved signature']);
    expect(await steps(log.checkpoint(5, 'log.example/ledger/demo.other'))).toEqual(['saved origin']);
    expect(await steps('nothing\n')).toEqual(['saved signature', 'saved checkpoint']);
  });

  it('are unreadable if they are missing', async () => {
    await expect(check(() => undefined, { saved: ['nowhere'] })).rejects.toThrow(UnreadableError);
  });
});
