import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { generateNoteKey, noteVerifier } from '@sealgate/merkle';
import { checkEntry, checkReceipt } from './check-receipt.ts';
import { readReceiptFile } from './receipt-file.ts';
import type { Report } from './report.ts';
import { sampleLog } from './testing/sample-log.ts';
import { UnreadableError } from './shape.ts';

const log = sampleLog(300);
const INDEX = 264; // Divisible by three: it has an extra.
const SERVED = await log.proofOf(INDEX);
const RECORD = { ...SERVED.receipt, data: { order: INDEX, note: 'Zürich «€»' } };
// The record as served by the admin API: without salt and hash.
const SERVED_RECORD = withoutMembers(RECORD, ['salt', 'dataHash']);

type Change = (file: typeof SERVED) => unknown;

function check(value: unknown, data?: JsonValue, verifier = log.verifier): Report {
  // Through JSON, so that a test can only pass what a file can contain.
  const json = JSON.parse(JSON.stringify(value)) as JsonValue;
  const given = data === undefined ? undefined : { name: 'data.json', value: data };
  return checkReceipt({ file: readReceiptFile('proof.json', json), verifier, data: given });
}

/** The report on a changed copy of the served proof. */
function tampered(change: Change): Report {
  const copy = structuredClone(SERVED);
  return check(change(copy) ?? copy);
}

function failedSteps(report: Report): string[] {
  return [...new Set(report.steps.filter(({ status }) => status === 'failed').map(({ step }) => step))];
}

describe('a receipt', () => {
  it('verifies as served, and reports what is proved', () => {
    const report = check(SERVED);
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('Record order-264 is entry 264 of 300 in demo.main');
    expect(report.conclusion).toContain('only its hash is proved');
    expect(report.steps.find(({ step }) => step === 'content')?.status).toBe('skipped');
  });

  it.each([
    ['given by the sender', SERVED, RECORD.data],
    ['as receipt.data', { ...SERVED, receipt: RECORD }, undefined],
    ['as record.data', { ...SERVED, record: SERVED_RECORD }, undefined],
    ['as asset.data', { ...SERVED, asset: { id: 'order-264', type: 'demo.order', data: RECORD.data } }, undefined],
    ['in a whole saved record', SERVED, SERVED_RECORD],
  ])('verifies with the content %s', (_, file, data) => {
    const report = check(file, data as JsonValue | undefined);
    expect(failedSteps(report)).toEqual([]);
    expect(report.conclusion).toContain('Its content is proved.');
  });

  it('verifies for every entry of logs of many sizes', async () => {
    for (const size of [1, 2, 3, 255, 256, 257]) {
      for (const index of [0, Math.floor(size / 2), size - 1]) {
        expect(check(await log.proofOf(index, size)).verified).toBe(true);
      }
    }
  });

  it('of an erased record proves that something was written', () => {
    const erased = { ...SERVED, receipt: { ...SERVED.receipt, salt: null, extra: null } };
    const withRecord = { ...erased, record: { ...SERVED_RECORD, data: null, extra: null, erased: true } };
    for (const file of [erased, withRecord]) {
      const report = check(file);
      expect(report.verified).toBe(true);
      expect(report.conclusion).toContain('Proved: something was written then; its content was erased.');
    }
  });

  it('fails after a change of any value in it', () => {
    const whole = JSON.parse(JSON.stringify({ ...SERVED, record: SERVED_RECORD })) as JsonValue;
    expect(check(whole).verified).toBe(true);
    const changes = [...everyChange(whole)];
    expect(changes.length).toBeGreaterThan(30);
    for (const { pointer, value } of changes) {
      expect({ pointer, verified: verdictOf(value) }).toEqual({ pointer, verified: false });
    }
  });

  it.each<[string, Change, string[]]>([
    ['another type', ({ receipt }) => Object.assign(receipt, { type: 'other' }), ['leaf']],
    ['another owner', ({ receipt }) => Object.assign(receipt, { owner: 'Eve' }), ['leaf']],
    ['another time', ({ receipt }) => Object.assign(receipt, { at: '2025-01-01T00:00:00.000Z' }), ['leaf']],
    ['another content hash', ({ receipt }) => Object.assign(receipt, { dataHash: '0'.repeat(64) }), ['leaf']],
    ['another leaf hash', ({ proof }) => Object.assign(proof, { leafHash: '0'.repeat(64) }), ['leaf', 'inclusion']],
    ['a malformed leaf hash', ({ proof }) => Object.assign(proof, { leafHash: 'x' }), ['leaf', 'inclusion']],
    ['an index of the receipt', ({ receipt }) => Object.assign(receipt, { index: 1 }), ['agreement']],
    ['an index of both', (file) => moved(file, 1), ['inclusion']],
    ['half an index', (file) => moved(file, 264.5), ['inclusion']],
    ['another network', ({ receipt }) => Object.assign(receipt, { network: 'dem' }), ['agreement', 'leaf']],
    ['another tree size', ({ proof }) => Object.assign(proof, { treeSize: 299 }), ['size']],
    ['a tree size too small for it', ({ proof }) => Object.assign(proof, { treeSize: 264 }), ['size', 'inclusion']],
    ['a hash too few', ({ proof }) => void proof.inclusionPath.pop(), ['inclusion']],
    ['a hash too many', ({ proof }) => void proof.inclusionPath.push('0'.repeat(64)), ['inclusion']],
    ['a malformed hash', ({ proof }) => void proof.inclusionPath.splice(0, 1, 'zz'), ['inclusion']],
    ['a hash in upper case', ({ proof }) => upperCased(proof.inclusionPath), ['inclusion']],
    ['a malformed salt', ({ receipt }) => Object.assign(receipt, { salt: 'zz' }), ['content']],
    ['only its salt erased', ({ receipt }) => Object.assign(receipt, { salt: null }), ['content']],
  ])('fails with %s', (_, change, steps) => {
    const report = tampered((file) => void change(file));
    expect(report.verified).toBe(false);
    expect(failedSteps(report)).toEqual(steps);
    expect(report.conclusion).toBe(`Failed: ${steps.join(', ')}.`);
  });

  it('fails with the checkpoint of another tree of the log', async () => {
    const report = tampered(({ proof }) => void Object.assign(proof, { checkpoint: log.checkpoint(299) }));
    expect(failedSteps(report)).toEqual(['size', 'inclusion']);
    const fork = sampleLog(300, { key: log.key, entries: log.entries.slice(0, 264) });
    const forked = await fork.proofOf(264);
    expect(failedSteps(check({ receipt: SERVED.receipt, proof: forked.proof }))).toEqual(['leaf']);
  });

  it('fails with the checkpoint of another channel or log', () => {
    const other = tampered(
      ({ proof }) => void Object.assign(proof, { checkpoint: log.checkpoint(300, 'log.example/ledger/demo.other') }),
    );
    expect(other.steps.find(({ status }) => status === 'failed')).toMatchObject({
      step: 'origin',
      where: 'proof.json#/proof/checkpoint',
      expected: 'log.example/ledger/demo.main',
      found: 'log.example/ledger/demo.other',
    });
  });

  it('fails with another key, and names both keys', () => {
    const stranger = noteVerifier(generateNoteKey('log.example/ledger').verifierKey);
    const report = check(SERVED, undefined, stranger);
    expect(failedSteps(report)).toEqual(['signature']);
    const step = report.steps.find(({ status }) => status === 'failed');
    expect(step?.expected).toContain(`log.example/ledger+${stranger.keyHash}`);
    expect(step?.found).toContain(`log.example/ledger+${log.verifier.keyHash}`);
  });

  it('fails with an edited checkpoint', () => {
    const report = tampered(({ proof }) => {
      Object.assign(proof, { checkpoint: proof.checkpoint.replace('\n300\n', '\n301\n'), treeSize: 301 });
    });
    expect(failedSteps(report)).toEqual(['signature']);
    expect(report.steps.find(({ step }) => step === 'signature')?.detail).toContain('does not fit the text');
  });

  it.each(['', 'not a note', '\n\n'])('fails with %j as checkpoint', (checkpoint) => {
    const report = tampered(({ proof }) => void Object.assign(proof, { checkpoint }));
    expect(failedSteps(report)).toEqual(['signature', 'checkpoint']);
    expect(report.steps.at(-1)).toMatchObject({ step: 'inclusion', status: 'skipped' });
  });

  it('fails with other content, in any place, and reports the expected hash', () => {
    const other = { order: INDEX, note: 'other' };
    const files = [
      check(SERVED, other),
      check({ ...SERVED, receipt: { ...RECORD, data: other } }),
      check({ ...SERVED, record: { ...SERVED_RECORD, data: other } }),
    ];
    for (const report of files) {
      expect(failedSteps(report)).toEqual(['content']);
      expect(report.steps.find(({ step }) => step === 'content')?.expected).toBe(SERVED.receipt.dataHash);
    }
  });

  it('fails if the record next to it differs', () => {
    const report = check({ ...SERVED, record: { ...SERVED_RECORD, owner: 'Eve' } });
    expect(report.steps.filter(({ status }) => status === 'failed')).toMatchObject([
      { step: 'agreement', where: 'proof.json#/record/owner', expected: 'null', found: '"Eve"' },
    ]);
  });

  it('fails if content is claimed for an erased record', () => {
    const receipt = { ...SERVED.receipt, salt: null, extra: null };
    const report = check({ ...SERVED, receipt }, RECORD.data);
    expect(failedSteps(report)).toEqual(['content']);
    expect(report.steps.find(({ step }) => step === 'content')?.detail).toContain('nothing can prove this content');
  });

  it.each<[string, unknown, string]>([
    ['a list', [], 'proof.json is not a JSON object'],
    ['no receipt', { proof: SERVED.proof }, 'proof.json# has no member receipt'],
    ['no proof', { receipt: SERVED.receipt }, 'proof.json# has no member proof'],
    ['a receipt that is text', { ...SERVED, receipt: 'x' }, 'proof.json#/receipt is not an object'],
    ['no salt', { ...SERVED, receipt: { ...SERVED.receipt, salt: undefined } }, 'no member salt'],
    ['a number for the id', { ...SERVED, receipt: { ...SERVED.receipt, id: 5 } }, '/receipt/id is not a string'],
    ['text for the index', { ...SERVED, proof: { ...SERVED.proof, index: '5' } }, '/proof/index is not a number'],
    ['text for the path', { ...SERVED, proof: { ...SERVED.proof, inclusionPath: '' } }, 'inclusionPath is not a list'],
    ['a number in the path', { ...SERVED, proof: { ...SERVED.proof, inclusionPath: [5] } }, 'inclusionPath/0 is not a'],
  ])('is unreadable with %s', (_, value, message) => {
    expect(() => check(value)).toThrow(UnreadableError);
    expect(() => check(value)).toThrow(message);
  });
});

function withoutMembers(record: object, members: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([member]) => !members.includes(member)));
}

function moved({ receipt, proof }: typeof SERVED, index: number): void {
  Object.assign(receipt, { index });
  Object.assign(proof, { index });
}

function upperCased(path: string[]): void {
  path.splice(0, 1, 'ABCDEF'.padEnd(64, '0'));
}

function verdictOf(value: JsonValue): boolean {
  try {
    return check(value).verified;
  } catch (error) {
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}

/** The value with each of its scalars changed in turn. */
function* everyChange(value: JsonValue, pointer = ''): Generator<{ pointer: string; value: JsonValue }> {
  if (typeof value !== 'object' || value === null) {
    yield { pointer, value: changed(value) };
    return;
  }
  for (const [member, inner] of Object.entries(value)) {
    for (const change of everyChange(inner, `${pointer}/${member}`)) {
      const copy: JsonValue = Array.isArray(value) ? value.with(Number(member), change.value) : { ...value };
      if (!Array.isArray(copy)) copy[member] = change.value;
      yield { pointer: change.pointer, value: copy };
    }
  }
}

function changed(value: string | number | boolean | null): JsonValue {
  if (typeof value === 'string') return value.slice(0, -1) + (value.endsWith('0') ? '1' : '0');
  if (typeof value === 'number') return value + 1;
  return value === null ? 'something' : !value;
}

describe('an entry without its receipt', () => {
  const { proof } = SERVED;
  const checked = (changes: Partial<typeof proof> = {}, verifier = log.verifier) =>
    checkEntry({ name: 'entry', proof: { ...proof, ...changes }, verifier });

  it('verifies as served, and reports its place', () => {
    const report = checked();
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('Entry 264 of 300 in demo.main is in a tree signed by');
  });

  it('fails at the step that was changed: hash, place, size, channel, signer', () => {
    expect(failedSteps(checked({ leafHash: 'ab'.repeat(32) }))).toEqual(['inclusion']);
    expect(failedSteps(checked({ index: 265 }))).toEqual(['inclusion']);
    expect(failedSteps(checked({ treeSize: 299 }))).toContain('size');
    expect(failedSteps(checked({ channel: 'demo.other' }))).toEqual(['origin']);
    const stranger = noteVerifier(generateNoteKey('ledger.test').verifierKey);
    expect(failedSteps(checked({}, stranger))).toContain('signature');
  });
});
