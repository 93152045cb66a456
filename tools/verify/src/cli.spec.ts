import { createHash } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf } from '@sealgate/envelope';
import { generateNoteKey } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { directoryOf, filesOf, sampleLog } from './testing/sample-log.ts';

const log = sampleLog(300);
const VKEY = log.key.verifierKey;
const signer = documentSigner(generateDocumentKey());
const DOCUMENT = '{"items":[]}';
const DOCUMENT_HASH = createHash('sha256').update(DOCUMENT).digest('hex');
const path = (await log.consistency(200)).map((hash) => hash.toString('hex'));
const proof = await log.proofOf(7);

const files = new Map<string, string | Uint8Array>([
  ...filesOf(log, { leaves: true }),
  ['log.vkey', `${VKEY}\n`],
  ['proof.json', JSON.stringify(proof)],
  ['edited.json', JSON.stringify({ ...proof, receipt: { ...proof.receipt, owner: 'Eve' } })],
  ['data.json', '{"note":"Zürich «€»","order":7}'],
  ['answer.json', JSON.stringify(log.answerOf(7))],
  ['answers.ndjson', `${JSON.stringify(log.answerOf(7))}\n`],
  ['old.txt', log.checkpoint(200)],
  ['path.json', JSON.stringify(path)],
  ['path-object.json', JSON.stringify({ consistencyPath: path })],
  ['doc.json', DOCUMENT],
  ['doc.jws', `${signer.sign(Buffer.from(DOCUMENT))}\n`],
  ['jwks.json', JSON.stringify(jwksOf([signer.jwk]))],
  ['dev.json', JSON.stringify({ ledger: { verifierKey: VKEY } })],
  ['latin1.txt', Buffer.from('caf\u00e9', 'latin1')],
]);
const directory = await directoryOf(files);
const devDirectory = await directoryOf(
  new Map([...files, ['.sealgate/dev.json', JSON.stringify({ ledger: { verifierKey: VKEY } })]]),
);

async function run(commandLine: string, from = directory) {
  const written = { out: '', err: '' };
  const code = await runCli(commandLine.split(' ').filter(Boolean), {
    out: (text) => (written.out += text),
    err: (text) => (written.err += text),
    directory: from,
  });
  return { code, ...written };
}

describe('sealgate-verify', () => {
  it.each([
    [`receipt proof.json --key ${VKEY}`, 'Record order-7 is entry 7 of 300'],
    ['receipt proof.json --key log.vkey --data data.json', 'Its content is proved.'],
    ['receipt proof.json --key log.vkey --data data.json', `Salt, ${join(directory, 'data.json')} and extra hash`],
    ['receipt proof.json --dev-json dev.json', 'VERIFIED'],
    ['answer answer.json proof.json --key log.vkey', 'What was acknowledged is what was written.'],
    ['checkpoint checkpoint --key log.vkey', 'at 300 entries'],
    ['checkpoint checkpoint --key log.vkey --channel demo.main', 'VERIFIED'],
    ['consistency old.txt checkpoint --key log.vkey --proof path.json', 'The 200 entries'],
    ['consistency old.txt checkpoint --key log.vkey --proof path-object.json', 'The 200 entries'],
    ['consistency old.txt checkpoint --key log.vkey --tiles .', 'The 200 entries'],
    ['log . --key log.vkey --receipts answers.ndjson --saved old.txt', 'All 300 entries'],
    ['log . --key log.vkey --leaves leaves.ndjson --channel demo.main', 'All 300 entries'],
    ['signed doc.json --signature doc.jws --jwks jwks.json', 'byte for byte'],
    [`signed doc.json --signature ${signer.sign(Buffer.from(DOCUMENT))} --jwks jwks.json`, 'byte for byte'],
  ])('exits with 0 for: %s', async (commandLine, text) => {
    const { code, out, err } = await run(commandLine);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(text);
    expect(out).toContain('\nVERIFIED. ');
  });

  it.each([
    ['receipt edited.json --key log.vkey', 'Failed: leaf.'],
    ['receipt proof.json --key log.vkey --data doc.json', 'Failed: content.'],
    ['answer answer.json edited.json --key log.vkey', 'Failed: leaf.'],
    ['checkpoint checkpoint --key log.vkey --channel demo.other', 'Failed: origin.'],
    ['checkpoint doc.json --key log.vkey', 'Failed: signature, checkpoint.'],
    ['consistency checkpoint old.txt --key log.vkey', 'Failed: size.'],
    ['log . --key log.vkey --channel demo.other', 'Failed: origin.'],
    [`signed doc.json --sha256 ${DOCUMENT_HASH}`, 'Unchanged since hashed. Failed: signature.'],
    ['signed proof.json --signature doc.jws --jwks jwks.json', 'Failed: signature.'],
  ])('exits with 1 for: %s', async (commandLine, text) => {
    const { code, out, err } = await run(commandLine);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toContain(`NOT VERIFIED. ${text}`);
    expect(out).toContain('FAILED  ');
  });

  it.each([
    ['', 'Usage:'],
    ['nothing', "unknown command 'nothing'"],
    ['receipt', "missing required argument 'file'"],
    ['receipt proof.json extra --key log.vkey', 'too many arguments'],
    ['receipt proof.json --nothing', "unknown option '--nothing'"],
    ['receipt proof.json', 'No key to verify with: give --key'],
    ['receipt proof.json --key nowhere', 'nowhere cannot be read: ENOENT.'],
    ['receipt proof.json --key doc.json', 'doc.json holds no verifier key: A verifier key reads'],
    [`receipt proof.json --key ${VKEY.slice(0, -4)}AAAA`, '--key holds no verifier key: The key id of'],
    ['receipt proof.json --key log.vkey --dev-json dev.json', 'either --key or --dev-json'],
    ['receipt proof.json --dev-json nowhere', 'nowhere cannot be read: ENOENT.'],
    ['receipt proof.json --dev-json doc.json', 'doc.json# has no member ledger'],
    ['receipt nowhere --key log.vkey', 'nowhere cannot be read: ENOENT.'],
    ['receipt . --key log.vkey', 'cannot be read: EISDIR.'],
    ['receipt log.vkey --key log.vkey', 'log.vkey is not JSON as the ledger takes it'],
    ['receipt answer.json --key log.vkey', 'answer.json# has no member receipt'],
    ['receipt proof.json --key log.vkey --data nowhere', 'nowhere cannot be read'],
    ['answer proof.json proof.json --key log.vkey', 'proof.json# has no member records'],
    ['checkpoint latin1.txt --key log.vkey', 'latin1.txt is not UTF-8 text.'],
    ['consistency old.txt checkpoint --key log.vkey', 'give --proof or --tiles'],
    ['consistency old.txt checkpoint --key log.vkey --proof path.json --tiles .', 'either --proof or --tiles'],
    ['consistency old.txt checkpoint --key log.vkey --proof doc.json', 'has no member consistencyPath'],
    ['log nowhere --key log.vkey', 'checkpoint cannot be read: ENOENT.'],
    ['log . --key log.vkey --receipts nowhere', 'nowhere cannot be read: ENOENT.'],
    ['signed doc.json', 'Give --signature and --jwks'],
    ['signed doc.json --signature doc.jws', 'without --jwks'],
    ['signed doc.json --jwks jwks.json', 'without --signature'],
    ['signed doc.json --sha256 abc', '64 hex digits'],
    ['signed nowhere --signature doc.jws --jwks jwks.json', 'nowhere cannot be read'],
  ])('exits with 2, with the reason, for: %s', async (commandLine, text) => {
    const { code, out, err } = await run(commandLine);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(text);
  });

  it.each(['--help', 'help', 'receipt --help', 'answer --help', 'log --help', 'consistency --help', 'signed --help'])(
    'prints help for %s',
    async (commandLine) => {
      const { code, out, err } = await run(commandLine);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('Usage: sealgate-verify');
    },
  );

  it('uses the key of the demo in the current directory, and reports that', async () => {
    const { code, out } = await run('receipt proof.json', devDirectory);
    expect(code).toBe(0);
    expect(out).toContain(`dev.json, the demo on this machine: no independent pin)`);
  });

  it('finds the demo from any folder below it, dev.json before log.vkey', async () => {
    const key = ['.sealgate/log.vkey', `${VKEY}\n`] as const;
    const devJson = ['.sealgate/dev.json', JSON.stringify({ ledger: { verifierKey: VKEY } })] as const;
    const stopped = await directoryOf(new Map([...files, key, ['below/below/x', '']]));
    const from = join(stopped, 'below/below');
    const afterwards = await run('receipt ../../proof.json', from);
    expect(afterwards).toMatchObject({ code: 0, err: '' });
    expect(afterwards.out).toContain(`(from ${join(stopped, '.sealgate/log.vkey')}, the demo on this machine: no`);
    const running = await directoryOf(new Map([...files, key, devJson]));
    expect((await run('receipt proof.json', running)).out).toContain(
      `(from ${join(running, '.sealgate/dev.json')}, the`,
    );
  });

  it('trusts no demo file that another user can write, unless it is named', async () => {
    const open = await directoryOf(new Map([...files, ['.sealgate/log.vkey', VKEY]]));
    const path = join(open, '.sealgate/log.vkey');
    await chmod(path, 0o666);
    expect((await run('receipt proof.json', open)).err).toContain(
      `${path} can be written by another user. If you trust it, name it with --key.`,
    );
    expect(await run(`receipt proof.json --key ${path}`, open)).toMatchObject({ code: 0 });
  });

  it('prefers a given key', async () => {
    const { code, out } = await run(`receipt proof.json --key ${sampleLog(1).key.verifierKey}`, devDirectory);
    expect(code).toBe(1);
    expect(out).toContain('(from --key)');
  });

  it('accepts checkpoints of either key of a rotated log, and reports which signed', async () => {
    const next = sampleLog(301, { key: generateNoteKey('log.example/ledger'), entries: log.entries });
    const [old, fresh] = [log.verifier.keyHash, next.verifier.keyHash];
    const grown = new Map([
      ...files,
      ...[...filesOf(next, { leaves: true })].map(([path, bytes]) => [`next/${path}`, bytes] as const),
      ['both.vkey', `${next.key.verifierKey}\n${VKEY}\n`],
      ['other.vkey', generateNoteKey('log.example/other').verifierKey],
    ]);
    const folder = await directoryOf(grown);
    for (const pins of [`--key ${next.key.verifierKey} --key log.vkey`, '--key both.vkey']) {
      const before = await run(`receipt proof.json ${pins}`, folder);
      expect(before).toMatchObject({
        code: 0,
        out: expect.stringContaining(`in a tree signed by log.example/ledger+${old}`),
      });
      const { code, out } = await run(`consistency checkpoint next/checkpoint ${pins} --tiles next`, folder);
      expect(code).toBe(0);
      expect(out).toContain(
        `The old one is signed by log.example/ledger+${old}, the new one by log.example/ledger+${fresh}.`,
      );
    }
    const { out: json } = await run('checkpoint next/checkpoint --key both.vkey --json', folder);
    expect(JSON.parse(json)).toMatchObject({ key: { keyHash: fresh }, keys: [{ keyHash: fresh }, { keyHash: old }] });

    const alone = await run('checkpoint next/checkpoint --key log.vkey', folder);
    expect(alone).toMatchObject({ code: 1, out: expect.stringContaining('pin both: --key may be repeated') });
    const mixed = await run('checkpoint checkpoint --key log.vkey --key other.vkey', folder);
    expect(mixed).toMatchObject({ code: 2, err: expect.stringContaining('not of one log') });
  });

  it('accepts absolute paths', async () => {
    const { code } = await run(`receipt ${join(directory, 'proof.json')} --key ${join(directory, 'log.vkey')}`, '/');
    expect(code).toBe(0);
  });

  it('reports what failed and where, with the expected and the found value', async () => {
    const { out } = await run('receipt edited.json --key log.vkey');
    const lines = out.split('\n');
    const failed = lines.findIndex((line) => line.startsWith('FAILED'));
    expect(lines[failed]).toContain('leaf');
    expect(lines[failed + 1]).toContain('edited.json#/proof/leafHash');
    expect(lines[failed + 2]).toMatch(/expected: [0-9a-f]{64}$/);
    expect(lines[failed + 3]).toMatch(new RegExp(`found: +${proof.proof.leafHash}$`));
  });

  it('prints one JSON object with --json in any case', async () => {
    const verified = await run('receipt proof.json --key log.vkey --json');
    expect(verified.code).toBe(0);
    expect(JSON.parse(verified.out)).toMatchObject({
      command: 'receipt',
      verified: true,
      key: { name: 'log.example/ledger', keyHash: log.verifier.keyHash },
    });
    const failed = await run('receipt edited.json --key log.vkey --json');
    expect(failed.code).toBe(1);
    const report = JSON.parse(failed.out) as { steps: unknown[] };
    expect(report).toMatchObject({ verified: false, conclusion: 'Failed: leaf.' });
    expect(report.steps).toContainEqual(
      expect.objectContaining({ step: 'leaf', status: 'failed', found: proof.proof.leafHash }),
    );
    const unreadable = await run('receipt nowhere --key log.vkey --json');
    expect(unreadable).toMatchObject({ code: 2, err: '' });
    expect(JSON.parse(unreadable.out)).toMatchObject({ command: 'receipt', verified: false });
    const signed = await run(`signed doc.json --sha256 ${DOCUMENT_HASH} --json`);
    expect(JSON.parse(signed.out)).not.toHaveProperty('key');
  });

  it('prints no control characters from its input', async () => {
    const hostile = await directoryOf(
      new Map([
        ['log.vkey', VKEY],
        ['p.json', JSON.stringify({ ...proof, receipt: { ...proof.receipt, id: 'x\u001b[2J\nVERIFIED. \u202e' } })],
      ]),
    );
    const { code, out } = await run('receipt p.json --key log.vkey', hostile);
    expect(code).toBe(1);
    // eslint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(out).not.toMatch(/^VERIFIED/m);
  });
});
