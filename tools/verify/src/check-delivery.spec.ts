import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { runCli } from './cli.ts';
import { BODY, KEY, OTHER, TIME, extra } from './testing/sample-delivery.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-delivery-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function check(record: object, { body = BODY, keys = [KEY] }: { body?: string; keys?: string[] } = {}) {
  writeFileSync(join(folder, 'record.json'), JSON.stringify(record));
  writeFileSync(join(folder, 'body'), body);
  let text = '';
  const say = (part: string) => void (text += part);
  const parameters = [
    'delivery',
    'record.json',
    '--body',
    'body',
    ...keys.flatMap((key) => ['--sender-key', key]),
    '--json',
  ];
  const code = await runCli(parameters, { out: say, err: say, directory: folder });
  const { steps = [], error } = JSON.parse(text) as { steps?: { step: string; status: string }[]; error?: string };
  return { code, failed: steps.filter(({ status }) => status === 'failed').map(({ step }) => step), error };
}

describe('sealgate-verify delivery', () => {
  it('verifies that the sender signed the delivery of a record or receipt', async () => {
    expect(await check({ extra })).toMatchObject({ code: 0, failed: [] });
    expect(await check({ receipt: { extra }, proof: {} })).toMatchObject({ code: 0, failed: [] });
    expect(await check({ extra }, { keys: [OTHER, KEY] })).toMatchObject({ code: 0 });
    writeFileSync(join(folder, 'key'), `${KEY}\n`);
    expect(await check({ extra }, { keys: ['key'] })).toMatchObject({ code: 0 });
  });

  it.each<[string, object, { body?: string; keys?: string[] }, string[]]>([
    ['other bytes', {}, { body: `${BODY} ` }, ['body', 'signed bytes', 'signature']],
    ['another key', {}, { keys: [OTHER] }, ['signature']],
    ['another id', { deliveryId: 'msg_2' }, {}, ['signed bytes', 'signature']],
    ['another time', { timestamp: TIME + 1 }, {}, ['signed bytes', 'signature']],
    ['another signature', { signature: `v1a,${Buffer.alloc(64).toString('base64')}` }, {}, ['signature']],
    ['a signature of another form', { signature: extra.signature.replace('v1a', 'v1') }, {}, ['signature']],
    ['a shared secret', { vouchedBy: 'shared-secret' }, {}, ['signature']],
  ])('fails for %s', async (_what, changes, given, failed) => {
    expect(await check({ extra: { ...extra, ...changes } }, given)).toMatchObject({ code: 1, failed });
  });

  it.each<[string, object, { keys?: string[] }]>([
    ['no key', { extra }, { keys: [] }],
    ['an invalid key', { extra }, { keys: ['whpk_AAAA'] }],
    ['a record without a source', { extra: {} }, {}],
    ['something other than a record', {}, {}],
  ])('is unreadable with %s', async (_what, record, given) => {
    expect(await check(record, given)).toMatchObject({ code: 2, error: expect.any(String) });
  });
});
