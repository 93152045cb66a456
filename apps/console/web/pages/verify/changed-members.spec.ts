import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { vectors } from '@sealgate/verify/vectors';
import { changedMembers } from './changed-members.ts';
import { checkFiles } from './check-files.ts';
import { noPins } from './pins.ts';

type Members = Record<string, JsonValue>;
interface Saved {
  readonly receipt: Members;
  readonly proof: Members;
  readonly record: Members;
}

const { files, pins } = vectors.find(({ title }) => title === 'a proof that holds')!;
const whole = JSON.parse(files['proof.json']!) as Saved;
/** As the console saves it: with the whole record beside the receipt. */
const saved: Saved = { ...whole, record: { ...whole.receipt, ...whole.record } };
const { owner, type } = whole.receipt;

/** What is told of this file, with these others beside it. */
async function told(file: Saved, others: Readonly<Record<string, JsonValue>> = {}, keys = pins) {
  const all = { 'proof.json': { ...file }, ...others };
  const named = Object.entries(all).map(([name, value]) => ({
    name,
    bytes: new TextEncoder().encode(JSON.stringify(value)),
  }));
  const [checked] = await checkFiles(named, { ...noPins, ...keys });
  if (checked === undefined || !('receipt' in checked) || checked.receipt === undefined) throw new Error('No receipt.');
  return changedMembers(checked.receipt, checked.report, checked.dropped);
}

const withRecord = (members: Members): Saved => ({ ...saved, record: { ...saved.record, ...members } });
const withReceipt = (members: Members): Saved => ({ ...saved, receipt: { ...saved.receipt, ...members } });

describe('a changed member', () => {
  it('is told with what was signed, whichever of receipt and record was changed', async () => {
    expect(await told(saved)).toEqual([]);
    const changed = [{ member: 'owner', signed: owner, found: 'mallory' }];
    expect(await told(withRecord({ owner: 'mallory' }))).toEqual(changed);
    expect(await told(withReceipt({ owner: 'mallory' }))).toEqual(changed);
    expect(await told(withReceipt({ owner: 'mallory', type: 'gift' }))).toEqual([
      { member: 'type', signed: type, found: 'gift' },
      ...changed,
    ]);
  });

  it('of the content is told if the file has the content twice', async () => {
    const data = saved.record['data'] as Members;
    expect(await told(saved, { 'sent.json': { ...data, order: 8, more: [1] } })).toEqual([
      { member: 'data/order', signed: '7', found: '8' },
      { member: 'data/more', signed: undefined, found: '[1]' },
    ]);
    expect(await told(withRecord({ data: { ...data, order: 8 } }))).toEqual([]);
  });

  it('is not told if nothing shows what was signed', async () => {
    const both = { ...withReceipt({ owner: 'mallory' }), record: { ...saved.record, owner: 'mallory' } };
    expect(await told(both)).toEqual([]);
    const stranger = { logKeys: vectors.find(({ title }) => title === 'a proof by somebody else')!.pins.logKeys! };
    expect(await told(withRecord({ owner: 'mallory' }), {}, stranger)).toEqual([]);
  });
});
