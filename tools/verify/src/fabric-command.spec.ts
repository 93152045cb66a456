import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { generateNoteKey } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { northPeer, trustFile } from './testing/fabric-members.ts';
import { fabricProof } from './testing/fabric-proofs.ts';
import { epochOf, STATEMENT } from './testing/sample-epoch.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'verify-fabric-'));
  writeFileSync(join(directory, 'trust.json'), JSON.stringify(trustFile()));
  writeFileSync(join(directory, 'proof.json'), JSON.stringify(fabricProof()));
});
afterEach(() => rmSync(directory, { recursive: true }));

const run = (...args: string[]) => runAny('fabric', ...args);

async function runAny(...args: string[]) {
  const texts: string[] = [];
  const say = (text: string) => void texts.push(text);
  const code = await runCli(args, {
    out: say,
    err: say,
    directory,
    stopSignal: () => AbortSignal.abort(),
  });
  return { code, text: texts.join('') };
}

describe('sealgate-verify fabric', () => {
  it('ends with 0 for a proof, and says who signed what', async () => {
    const { code, text } = await run('proof.json', '--trust', 'trust.json');
    expect(text).toContain('VERIFIED. Peers of NorthMSP and SouthMSP signed that record order-7');
    expect(code).toBe(0);
  });

  it('ends with 1 for a proof that is refused, and names each refusal', async () => {
    writeFileSync(join(directory, 'proof.json'), JSON.stringify(fabricProof({ signers: [northPeer], code: 11 })));
    const { code, text } = await run('proof.json', '--trust', 'trust.json', '--json');
    expect(JSON.parse(text)).toMatchObject({
      command: 'fabric',
      verified: false,
      conclusion: 'Failed: policy, validation.',
    });
    expect(code).toBe(1);
  });

  it.each<[string, unknown, string]>([
    ['another document', { receipt: {} }, 'is no proof of a record on Fabric'],
    ['a proof of a log', { receipt: {}, proof: { leafHash: '' } }, 'is no proof of a record on Fabric'],
    ['another version', { ...fabricProof().proof, v: 2 }, '/v is not 1'],
    ['bytes that are no base64', { ...fabricProof().proof, block: '*' }, '/block is not base64'],
    ['a missing member', { ...fabricProof().proof, view: undefined }, 'has no member view'],
  ])('ends with 2 for %s', async (_what, file, why) => {
    writeFileSync(join(directory, 'proof.json'), JSON.stringify(file));
    const { code, text } = await run('proof.json', '--trust', 'trust.json');
    expect(text).toContain(why);
    expect(code).toBe(2);
  });

  it('ends with 2 without a trust file, or with one that is none', async () => {
    expect(await run('proof.json')).toMatchObject({ code: 2 });
    expect(await run('proof.json', '--trust', 'proof.json')).toMatchObject({ code: 2 });
  });
});

describe('sealgate-verify receipt, of a proof that peers signed', () => {
  beforeEach(() => {
    const { receipt, proof } = fabricProof();
    writeFileSync(join(directory, 'proof.json'), JSON.stringify({ receipt, proof, record: { data: { total: 12 } } }));
    writeFileSync(join(directory, 'sent.json'), '{"total":12}');
    writeFileSync(join(directory, 'other.json'), '{"total":13}');
  });

  it('ends with 0 with the trust file, and needs no key of a log', async () => {
    const { code, text } = await runAny('receipt', 'proof.json', '--trust', 'trust.json', '--data', 'sent.json');
    expect(text).toContain('VERIFIED. Peers of NorthMSP and SouthMSP signed that record order-7');
    expect(text).not.toContain('key:');
    expect(code).toBe(0);
  });

  it('ends with 1 for other content', async () => {
    const { code, text } = await runAny('receipt', 'proof.json', '--trust', 'trust.json', '--data', 'other.json');
    expect(text).toContain('NOT VERIFIED. Failed: content.');
    expect(code).toBe(1);
  });

  it('ends with 2 without the trust file, and names it', async () => {
    const { code, text } = await runAny('receipt', 'proof.json', '--key', generateNoteKey('log.example').verifierKey);
    expect(text).toContain(
      'holds a proof of the Fabric channel both: give the trust file of that channel with --trust',
    );
    expect(code).toBe(2);
  });

  it('ends with 2 with a declaration of a log', async () => {
    writeFileSync(join(directory, 'declaration.json'), JSON.stringify((await epochOf(STATEMENT)).declaration));
    const { code, text } = await runAny(
      ...['receipt', 'proof.json', '--trust', 'trust.json', '--declaration', 'declaration.json'],
    );
    expect(text).toContain('is of no log: leave --declaration out');
    expect(code).toBe(2);
  });
});

describe('sealgate-verify answer, of a proof that peers signed', () => {
  const { receipt, proof } = fabricProof();
  const acknowledged = { id: 'order-7', channel: 'acme.main', transactionId: receipt['transactionId'] };
  const answer = (...records: object[]) =>
    writeFileSync(join(directory, 'answer.json'), JSON.stringify({ records: records as unknown[] }));
  const check = (...trust: string[]) => runAny('answer', 'answer.json', 'proof.json', ...trust);
  beforeEach(() => writeFileSync(join(directory, 'proof.json'), JSON.stringify({ receipt, proof })));

  it('ends with 0 for the record that was acknowledged, alone or in a batch', async () => {
    for (const records of [[acknowledged], [{ ...acknowledged, id: 'order-6' }, acknowledged]]) {
      answer(...records);
      const { code, text } = await check('--trust', 'trust.json');
      expect(text).toContain(
        'VERIFIED. What was acknowledged is what was written. Peers of NorthMSP and SouthMSP signed',
      );
      expect(code).toBe(0);
    }
  });

  it.each([
    ['id', 'order-8'],
    ['channel', 'acme.other'],
    ['transactionId', '0'.repeat(64)],
  ])('ends with 1 for another %s', async (member, value) => {
    answer({ ...acknowledged, [member]: value });
    const { code, text } = await check('--trust', 'trust.json');
    expect(text).toContain(`The answer acknowledged another ${member} than the proof is about.`);
    expect(code).toBe(1);
  });

  it('ends with 1 if peers signed no such thing', async () => {
    const refused = fabricProof({ signers: [northPeer] });
    answer({ ...acknowledged, transactionId: refused.receipt['transactionId'] });
    writeFileSync(join(directory, 'proof.json'), JSON.stringify(refused));
    const { code, text } = await check('--trust', 'trust.json');
    expect(text).toContain('NOT VERIFIED. Failed: policy');
    expect(code).toBe(1);
  });

  it.each<[string, object, string[], string]>([
    ['without the trust file', { receipt, proof }, [], 'give the trust file of that channel with --trust'],
    ['for a proof alone', proof, ['--trust', 'trust.json'], 'has no receipt to compare with the answer'],
  ])('ends with 2 %s', async (_what, file, trust, why) => {
    answer(acknowledged);
    writeFileSync(join(directory, 'proof.json'), JSON.stringify(file));
    const { code, text } = await check(...trust);
    expect(text).toContain(why);
    expect(code).toBe(2);
  });
});
