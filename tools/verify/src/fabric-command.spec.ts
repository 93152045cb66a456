import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from './cli.ts';
import { northPeer, trustFile } from './testing/fabric-members.ts';
import { fabricProof } from './testing/fabric-proofs.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'verify-fabric-'));
  writeFileSync(join(directory, 'trust.json'), JSON.stringify(trustFile()));
  writeFileSync(join(directory, 'proof.json'), JSON.stringify(fabricProof()));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function run(...args: string[]) {
  const texts: string[] = [];
  const say = (text: string) => void texts.push(text);
  const code = await runCli(['fabric', ...args], {
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
