import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { checkAnswer, readWriteAnswer } from './check-answer.ts';
import { readReceiptFile } from './receipt-file.ts';
import { UnreadableError } from './shape.ts';
import { sampleLog } from './testing/sample-log.ts';

const log = sampleLog(20);
const PROOF = await log.proofOf(7);

function check(answer: unknown, proof: unknown = PROOF) {
  const [answerJson, proofJson] = [answer, proof].map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
  const records = readWriteAnswer('answer.json', answerJson ?? null);
  return checkAnswer({ records, file: readReceiptFile('proof.json', proofJson ?? null), verifier: log.verifier });
}

function answerWith(change: object) {
  const answer = log.answerOf(7);
  return { ...answer, records: answer.records.map((record) => ({ ...record, ...change })) };
}

describe('the response to a write', () => {
  it('verifies with the proof of its record, alone or in a batch', () => {
    for (const answer of [log.answerOf(7), log.answerOf(6, 7, 8)]) {
      const report = check(answer);
      expect(report.verified).toBe(true);
      expect(report.conclusion).toContain('What was acknowledged is what was written.');
    }
  });

  it('verifies for a record that existed before', () => {
    expect(check(answerWith({ existing: true })).verified).toBe(true);
  });

  it('finds the record by id and channel', () => {
    const answer = log.answerOf(7);
    const twin = { ...answer.records[0], channel: 'demo.archive', index: 0 };
    expect(check({ ...answer, records: [twin, ...answer.records] }).verified).toBe(true);
  });

  it.each([
    ['id', 'order-8', 'order-7'],
    ['transactionId', 'tx-9', 'tx-3'],
    ['channel', 'demo.other', 'demo.main'],
    ['index', 8, '7'],
    ['leafHash', '0'.repeat(64), PROOF.proof.leafHash],
  ])('fails with another %s, and reports where', (member, value, expected) => {
    const report = check(answerWith({ [member]: value }));
    expect(report.verified).toBe(false);
    expect(report.steps.filter(({ status }) => status === 'failed')).toEqual([
      {
        step: 'answer',
        status: 'failed',
        detail: `The answer acknowledged another ${member} than the proof is about.`,
        where: `answer.json#/records/0/${member}`,
        expected,
        found: String(value),
      },
    ]);
  });

  it('fails if it does not contain the record', () => {
    const report = check(log.answerOf(5, 6));
    expect(report.steps[0]).toMatchObject({
      step: 'answer',
      status: 'failed',
      expected: 'order-5 in demo.main, order-6 in demo.main',
      found: 'order-7 in demo.main',
    });
  });

  it('fails if the proof itself fails', () => {
    const proof = { ...PROOF, receipt: { ...PROOF.receipt, owner: 'Eve' } };
    expect(check(log.answerOf(7), proof).conclusion).toBe('Failed: leaf.');
  });

  it.each<[string, unknown, string]>([
    ['no records', {}, 'no member records'],
    ['records that are no list', { records: {} }, 'records is not a list'],
    ['a record that is text', { records: ['x'] }, '/records/0 is not an object'],
    ['a record of a ledger without a log', answerWith({ index: undefined }), 'keeps no log that can be checked'],
    ['an index that is text', answerWith({ index: '7' }), '/records/0/index is not a number'],
  ])('is unreadable with %s', (_, answer, message) => {
    expect(() => check(answer)).toThrow(UnreadableError);
    expect(() => check(answer)).toThrow(message);
  });
});
