import { describe, expect, it } from '@jest/globals';
import type { Declaration, Receipt, RecordProof } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { join } from 'node:path';
import { checkConsistency } from './check-consistency.ts';
import { readDeclarationFile } from './check-declaration.ts';
import { checkReceipt } from './check-receipt.ts';
import { runCli } from './cli.ts';
import { readReceiptFile } from './receipt-file.ts';
import { LATER, ORIGIN, STATEMENT, epochOf, log } from './testing/sample-epoch.ts';
import { CHANNEL, directoryOf, sampleLog } from './testing/sample-log.ts';

const asJson = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;
const judge = (receipt: Receipt, proof: RecordProof, declaration?: object) =>
  checkReceipt({
    file: readReceiptFile('p.json', asJson({ receipt, proof })),
    verifier: log.verifier,
    declaration: declaration === undefined ? undefined : readDeclarationFile('d.json', asJson(declaration)),
  });
const failedSteps = (report: { steps: readonly { step: string; status: string }[] }) => [
  ...new Set(report.steps.filter(({ status }) => status === 'failed').map(({ step }) => step)),
];

describe('a record of an epoch', () => {
  it('is proved in its own log, which begins with the declaration', async () => {
    const { proof } = await epochOf(STATEMENT);
    const report = judge(LATER, proof);
    expect(report).toMatchObject({ verified: true });
    expect(report.conclusion).toContain(`is entry 1 of 2 in ${CHANNEL}/e1,`);
    expect(report.notes.join()).toContain('when admin:01234567 declared records lost: Restored the dump of Monday.');
  });

  it.each<[string, (proof: RecordProof) => RecordProof, string]>([
    ['its declaration is left out', ({ declaration: _, ...proof }) => proof, 'declaration'],
    [
      'a word of the declaration was changed',
      (proof) => ({ ...proof, declaration: { ...proof.declaration!, statement: { ...STATEMENT, reason: 'None.' } } }),
      'declaration',
    ],
    [
      'the path of the declaration was cut',
      (proof) => ({ ...proof, declaration: { ...proof.declaration!, inclusionPath: [] } }),
      'declaration',
    ],
    ['the proof names another epoch', (proof) => ({ ...proof, epoch: 2 }), 'agreement'],
    ['the checkpoint is of the old log', (proof) => ({ ...proof, checkpoint: log.checkpoint(2) }), 'origin'],
  ])('fails if %s', async (_, change, step) => {
    const { proof } = await epochOf(STATEMENT);
    expect(failedSteps(judge(LATER, change(proof)))).toContain(step);
  });

  it('fails in a log with the declaration of another one', async () => {
    const { proof } = await epochOf({ ...STATEMENT, origin: `${ORIGIN}/e2` });
    expect(failedSteps(judge(LATER, proof))).toEqual(['declaration']);
  });

  it('is not accepted as a record of the old log', async () => {
    const { proof } = await epochOf(STATEMENT);
    const { epoch: _, ...receipt } = LATER;
    const { epoch: __, ...without } = proof;
    expect(failedSteps(judge(receipt, without))).toEqual(['origin']);
  });
});

describe('an older receipt with a declaration', () => {
  it.each([
    [
      3,
      'It was acknowledged and signed for, and then lost; declared on 2030-01-02T03:04:05.678Z by admin:01234567 in epoch 1: Restored the dump of Monday.',
    ],
    [2, 'It was acknowledged and signed for, and then lost; declared on'],
    [1, 'It is not among what was lost: of this log entries 2 to 3 were declared on'],
  ])('of entry %d gets: %s', async (index, sentence) => {
    const { declaration } = await epochOf(STATEMENT);
    const { receipt, proof } = await log.proofOf(index);
    const report = judge(receipt, proof, declaration);
    expect(failedSteps(report)).toEqual([]);
    expect(report.conclusion).toContain(sentence);
  });

  it.each<[string, Partial<Declaration>, string]>([
    ['says nothing of its log', { lost: [{ ...STATEMENT.lost[0]!, epoch: 3 }] }, 'loss'],
    ['is of another channel', { channel: 'demo.other', origin: 'log.example/ledger/demo.other/e1' }, 'loss'],
    ['says another end than the last checkpoint', { lost: [{ ...STATEMENT.lost[0]!, lostUntil: 3 }] }, 'loss'],
    [
      'ends it before what the receipt was signed under',
      { lost: [{ ...STATEMENT.lost[0]!, lostUntil: 3, checkpoint: log.checkpoint(3) }] },
      'loss',
    ],
    [
      'holds a last checkpoint of another log',
      { lost: [{ ...STATEMENT.lost[0]!, checkpoint: log.checkpoint(4, 'log.example/ledger/demo.other') }] },
      'last origin',
    ],
    [
      'holds a last checkpoint of another key',
      { lost: [{ ...STATEMENT.lost[0]!, checkpoint: sampleLog(4).checkpoint() }] },
      'last signature',
    ],
  ])('fails with one that %s', async (_, change, step) => {
    const { declaration } = await epochOf({ ...STATEMENT, ...change });
    const { receipt, proof } = await log.proofOf(3);
    expect(failedSteps(judge(receipt, proof, declaration))).toContain(step);
  });

  it('fails with one that was changed after signing', async () => {
    const { declaration } = await epochOf(STATEMENT);
    const { receipt, proof } = await log.proofOf(3);
    const changed = { ...declaration, statement: { ...STATEMENT, actor: 'somebody' } };
    expect(failedSteps(judge(receipt, proof, changed))).toEqual(['declaration']);
    const forged = { ...declaration, checkpoint: sampleLog(2).checkpoint(2, `${ORIGIN}/e1`) };
    expect(failedSteps(judge(receipt, proof, forged))).toContain('declaration signature');
  });

  it('issued between the restore and the halt proves no index, and points to the later receipt', async () => {
    const { proof, declaration } = await epochOf(STATEMENT);
    // The older database reused the index of a lost record; after the declaration the record has another.
    const { epoch: _, ...given } = { ...LATER, index: 2 };
    const beside = judge(given, proof, declaration);
    expect(beside.verified).toBe(false);
    expect(failedSteps(beside)).toEqual(expect.arrayContaining(['agreement']));
    expect(beside.steps).toContainEqual(
      expect.objectContaining({
        step: 'agreement',
        detail: expect.stringContaining('take the receipt that comes with the proof'),
      }),
    );
    // It cannot be proved at the index it names: another record was signed for there.
    const { proof: ofLost } = await log.proofOf(2);
    const forged = judge(given, ofLost, declaration);
    expect([forged.verified, failedSteps(forged)]).toEqual([false, ['leaf']]);
    const own = judge(LATER, proof, declaration);
    expect([own.verified, failedSteps(own)]).toEqual([true, []]);
    expect(own.conclusion).toContain('It is not among what was declared lost');
    const { declaration: other } = await epochOf({ ...STATEMENT, reason: 'Another story.' });
    expect(failedSteps(judge(LATER, proof, other))).toEqual(['loss']);
  });

  it('of a fork is reported as one', async () => {
    const fork = sampleLog(4, { key: log.key, entries: log.entries.slice(0, 2) });
    const { declaration } = await epochOf(STATEMENT);
    const { receipt, proof } = await fork.proofOf(3);
    const report = judge(receipt, proof, declaration);
    expect(report.steps).toContainEqual(
      expect.objectContaining({ step: 'loss', status: 'failed', detail: expect.stringContaining('A fork') }),
    );
  });
});

describe('the command line', () => {
  it('accepts a declaration, and a whole log of an epoch', async () => {
    const { declaration, checkpoint, tiles, proof: later } = await epochOf(STATEMENT);
    const { receipt, proof } = await log.proofOf(3);
    const directory = await directoryOf(
      new Map<string, string | Uint8Array>([
        ['old.json', JSON.stringify({ receipt, proof })],
        ['declaration.json', JSON.stringify(declaration)],
        ['proof.json', JSON.stringify({ receipt: LATER, proof: later })],
        ['not.json', '{"statement":{}}'],
        ['e1/checkpoint', checkpoint],
        ...[...tiles].map(([path, hashes]): [string, Buffer] => [join('e1', path), hashes]),
        ['e1/leaves.ndjson', `${canonical(asJson(STATEMENT))}\n${JSON.stringify(LATER)}\n`],
        ['old.txt', log.checkpoint(4)],
      ]),
    );
    const run = async (...args: string[]) => {
      const written: string[] = [];
      const code = await runCli([...args, '--key', log.key.verifierKey], {
        out: (text) => written.push(text),
        err: (text) => written.push(text),
        directory,
      });
      return { code, text: written.join('') };
    };
    expect(await run('receipt', 'old.json', '--declaration', 'declaration.json')).toMatchObject({
      code: 0,
      text: expect.stringContaining('and then lost'),
    });
    expect(await run('receipt', 'old.json', '--declaration', 'proof.json')).toMatchObject({ code: 0 });
    expect(await run('receipt', 'old.json', '--declaration', 'not.json')).toMatchObject({ code: 2 });
    expect(await run('log', 'e1')).toMatchObject({ code: 0, text: expect.stringContaining(`${CHANNEL}/e1`) });
    expect(await run('log', 'e1', '--channel', CHANNEL)).toMatchObject({ code: 1 });
    expect(await run('consistency', 'old.txt', 'e1/checkpoint')).toMatchObject({
      code: 1,
      text: expect.stringContaining('two epochs of one channel'),
    });
  });

  it('still distinguishes two channels', async () => {
    const other = { note: log.checkpoint(4, 'log.example/ledger/demo.other'), where: 'b' };
    const report = checkConsistency({
      older: { note: log.checkpoint(2), where: 'a' },
      newer: other,
      verifier: log.verifier,
    });
    expect(report.steps).toContainEqual(expect.objectContaining({ detail: 'The checkpoints are of different logs.' }));
  });
});
