import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

let test: TestLedger;
let channel: string;
let channels = 0;
const CHANNEL_ID = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';
const SIZE = 3;

beforeAll(async () => {
  test = await openTestLedger();
}, 120_000);
afterAll(() => test.close());

const recordOf = (id: string) => ({ id, type: 'asset', owner: null, data: '{}', extra: null });
const spoil = (text: string, ...values: unknown[]) => test.sql.query({ text, values: [channel, ...values] });
const more = () => test.ledger.append({ network: 'acme', channel, note: '{}', records: [recordOf('more')] });

/** A channel with signed records. */
async function openChannel(): Promise<void> {
  channel = `acme.h${(channels += 1)}`;
  const records = ['r0', 'r1', 'r5'].map(recordOf);
  await test.ledger.append({ network: 'acme', channel, note: '{}', records });
  await test.ledger.prove(channel, 'r5');
}

const FORGED = 'ledger.test/forged\n7\nAAAA\n\n— ledger.test AAAA\n';
const forgedOf = (note: string) => note.replace(/\n\d+\n/, '\n7\n');

it.each([
  ['another size under the same signature', forgedOf],
  ['the checkpoint of another channel', (_note: string, other: string) => other],
  ['no checkpoint at all', () => FORGED],
  ['something that is not a checkpoint', () => 'x'],
])(
  'one channel with a forged checkpoint (%s) is halted, the next continues, and it resumes once restored',
  async (_, forge) => {
    await openChannel();
    const { integrator, ledger } = test.reopen();
    const next = { network: 'acme', channel: `${channel}-z`, note: '{}' };
    await ledger.append({ ...next, records: [recordOf('n0')] });
    await integrator.catchUp(next.channel, 1);
    const [real, other] = [(await ledger.checkpoint(channel))!, (await ledger.checkpoint(next.channel))!];
    await spoil(`UPDATE ledger.checkpoints SET note = $2 WHERE channel_id = ${CHANNEL_ID}`, forge(real, other));
    await integrator.start();

    // It is found without a write; the forged checkpoint is neither served nor used in a proof.
    await until(() => integrator.halted.has(channel));
    for (const show of [
      () => ledger.checkpoint(channel),
      () => ledger.prove(channel, 'r5'),
      () => ledger.tile(channel, { level: 0, index: 0, width: 3 }),
    ])
      await expect(show()).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
    await more();
    await ledger.append({ ...next, records: [recordOf('n1')] });
    await until(async () => ((await ledger.checkpoint(next.channel)) ?? '').includes('\n2\n'));
    expect(integrator.halted.has(next.channel)).toBe(false);
    expect(await ledger.health()).toMatchObject({ ok: true, problem: expect.stringMatching(/^Channel acme\.h/) });

    await spoil(`UPDATE ledger.checkpoints SET note = $2 WHERE channel_id = ${CHANNEL_ID}`, real);
    await until(() => !integrator.halted.has(channel));
    await until(async () => ((await ledger.checkpoint(channel)) ?? '').includes(`\n${SIZE + 1}\n`));
    await integrator.stop();
  },
  60_000,
);
