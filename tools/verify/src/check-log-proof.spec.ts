import { describe, expect, it } from '@jest/globals';
import { receiptEntry, receiptLogProof } from '@sealgate/envelope';
import { checkpointText, generateNoteKey, leafHash, logProofText, noteSigner, parseNote } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { directoryOf, sampleLog } from './testing/sample-log.ts';
import { witness } from './testing/sample-witness.ts';

const log = sampleLog(300);
const VKEY = log.key.verifierKey;
const proved = await log.proofOf(7);
const FILE = receiptLogProof(proved);
const ORIGIN = proved.proof.checkpoint.split('\n', 1)[0]!;

const [one, two] = [witness('w1.example'), witness('w2.example')];
const cosigned = (by: string) => FILE + by;
const TEXT = parseNote(proved.proof.checkpoint).text;
const ofOne = one.cosign(TEXT);
const WITNESSES = `witness one ${one.key}\nwitness two ${two.key}\ngroup any any one two\n`;
// A log with one leaf whose key is named like its origin, as policies require.
const named = generateNoteKey('log.example/acme.main');
const entry = receiptEntry({ ...proved.receipt, channel: 'acme.main' });
const noteOf = (leaf: string) =>
  noteSigner(named.privateKey).sign(checkpointText({ origin: 'log.example/acme.main', size: 1, root: leafHash(leaf) }));
const fileOf = (leaf: string, extra?: string) =>
  logProofText({
    index: 0,
    path: [],
    checkpoint: noteOf(leaf),
    ...(extra === undefined ? {} : { extra: Buffer.from(extra) }),
  });

const directory = await directoryOf(
  new Map([
    ['log.vkey', `${VKEY}\n`],
    ['plain.tlog-proof', FILE],
    ['one.tlog-proof', cosigned(ofOne)],
    ['other-size.tlog-proof', cosigned(one.cosign(TEXT.replace('\n300\n', '\n301\n')))],
    ['stranger.tlog-proof', cosigned(witness('w1.example').cosign(TEXT))],
    ['other-entry.tlog-proof', receiptLogProof({ ...proved, receipt: { ...proved.receipt, owner: 'Eve' } })],
    ['other-index.tlog-proof', FILE.replace('index 7', 'index 8')],
    ['cut.tlog-proof', FILE.slice(0, 200)],
    ['named.tlog-proof', fileOf(entry, entry)],
    ['bare.tlog-proof', fileOf(entry)],
    ['entry', entry],
    [
      'other-channel.tlog-proof',
      fileOf(entry.replace('acme.main', 'acme.other'), entry.replace('acme.main', 'acme.other')),
    ],
    ['foreign.tlog-proof', fileOf('anything', 'anything')],
    ['none.policy', 'quorum none\n'],
    ['any.policy', `${WITNESSES}quorum any\n`],
    ['two.policy', `${WITNESSES}quorum two\n`],
    ['named.policy', `log ${named.verifierKey}\nquorum none\n`],
    ['wrong.policy', 'quorum one\n'],
    ['proof.json', JSON.stringify(proved)],
    [
      'cosigned.json',
      JSON.stringify({ ...proved, proof: { ...proved.proof, checkpoint: proved.proof.checkpoint + ofOne } }),
    ],
  ]),
);

async function run(commandLine: string) {
  const written = { out: '', err: '' };
  const code = await runCli(commandLine.split(' '), {
    out: (text) => (written.out += text),
    err: (text) => (written.err += text),
    directory,
  });
  return { code, ...written };
}

describe('sealgate-verify proof', () => {
  it.each([
    ['plain.tlog-proof --key log.vkey', `is in ${ORIGIN}, written at`],
    ['plain.tlog-proof --key log.vkey', 'No witness cosigned it'],
    ['plain.tlog-proof --key log.vkey --policy none.policy', 'The entry is number 7 of 300'],
    [
      'one.tlog-proof --key log.vkey --policy any.policy',
      'one saw the log grow to 300 entries by 2030-01-02T03:04:05.000Z',
    ],
    ['named.tlog-proof --policy named.policy', 'is in log.example/acme.main'],
    ['bare.tlog-proof --policy named.policy --entry entry', 'The entry is number 0'],
    ['foreign.tlog-proof --policy named.policy', 'only its bytes are proved'],
  ])('proves a record with %s', async (line, told) => {
    const { code, out, err } = await run(`proof ${line}`);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(told);
  });

  it.each([
    ['plain.tlog-proof --key log.vkey --policy any.policy', 'no quorum of the policy: none'],
    ['one.tlog-proof --key log.vkey --policy two.policy', 'no quorum of the policy: one'],
    ['other-size.tlog-proof --key log.vkey --policy any.policy', 'the witness one is not over this checkpoint'],
    ['stranger.tlog-proof --key log.vkey --policy any.policy', 'no quorum of the policy: none'],
    ['plain.tlog-proof --policy named.policy', `names no log with the origin ${ORIGIN}`],
    [`plain.tlog-proof --key ${named.verifierKey}`, 'is not signed by a key that is trusted'],
    ['other-entry.tlog-proof --key log.vkey', 'does not lead from the entry to the signed root'],
    ['other-index.tlog-proof --key log.vkey', 'does not lead from the entry to the signed root'],
    ['other-channel.tlog-proof --policy named.policy', 'of another channel than the log'],
    ['bare.tlog-proof --policy named.policy', 'give it with --entry'],
    ['cut.tlog-proof --key log.vkey', 'A proof'],
    ['proof.json --key log.vkey', 'A proof'],
  ])('rejects %s, with the reason', async (line, told) => {
    const { code, out } = await run(`proof ${line}`);
    expect(code).toBe(1);
    expect(out).toContain(told);
  });

  it.each([
    ['proof plain.tlog-proof --key log.vkey --policy wrong.policy', 'Line 1 of the policy: one is not defined'],
    ['proof plain.tlog-proof --policy none.policy', 'No key to verify with'],
    ['proof nowhere --key log.vkey', 'ENOENT'],
  ])('is unreadable: %s', async (line, told) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain(told);
  });
});

describe('witnesses of a policy', () => {
  it('are also required for a checkpoint in a receipt', async () => {
    expect(await run('receipt cosigned.json --key log.vkey --policy any.policy')).toMatchObject({ code: 0 });
    const without = await run('receipt proof.json --key log.vkey --policy any.policy');
    expect(without.code).toBe(1);
    expect(without.out).toContain('no quorum of the policy: none');
    expect((await run('receipt cosigned.json --key log.vkey --policy two.policy')).code).toBe(1);
  });
});
