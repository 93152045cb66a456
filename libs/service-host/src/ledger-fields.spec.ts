import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from './load-config.ts';
import { witnessFields } from './ledger-fields.ts';

/** Type 0x04. */
const KEY = 'witness.example/w1+815cf22e+BC1xFkK3JrBEAWJ8qfusMvXIUw+xkDzE2wIlhxeSGkiB';
const folder = mkdtempSync(join(tmpdir(), 'sealgate-policy-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (policy: string) => loadConfig(witnessFields, { LEDGER_WITNESS_POLICY: policy });
const policyOf = (url: string) => `witness w1 ${KEY} ${url}\nquorum w1\n`;

describe('LEDGER_WITNESS_POLICY', () => {
  it('defaults to none, with a wait of 5 s', () => {
    expect(loadConfig(witnessFields, {})).toEqual({ ledgerWitnesses: undefined, ledgerWitnessWaitMs: 5000 });
  });

  it('is a policy, inline or in a file; trailing slashes of URLs are removed', () => {
    const file = join(folder, 'policy');
    writeFileSync(file, policyOf('https://witness.example/prefix/'));
    const given = [policyOf('https://witness.example/prefix').replaceAll('\n', '\\n'), `file://${file}`];
    for (const text of given) {
      const { ledgerWitnesses } = load(text);
      expect(ledgerWitnesses?.witnesses).toMatchObject([{ name: 'w1', url: 'https://witness.example/prefix' }]);
      expect(ledgerWitnesses?.isQuorum(new Set())).toBe(false);
      expect(ledgerWitnesses?.isQuorum(new Set(['w1']))).toBe(true);
    }
    expect(load(policyOf('http://127.0.0.1:7380')).ledgerWitnesses?.witnesses).toHaveLength(1);
  });

  it.each([
    ['quorum none', 'must name a witness'],
    [`witness w1 ${KEY}\nquorum w1`, 'must give the witness w1 a URL'],
    [policyOf('http://witness.example'), 'must give the witness w1 a URL'],
    [policyOf('https://u:p@witness.example'), 'must give the witness w1 a URL'],
    [policyOf('https://witness.example/?a=b'), 'must give the witness w1 a URL'],
    [`witness w1 ${KEY} https://witness.example`, 'A policy has a quorum line'],
    [`file://${folder}/none`, 'must name a file that can be read'],
  ])('is refused: %s', (text, said) => {
    expect(() => load(text.replaceAll('\n', '\\n'))).toThrow(`LEDGER_WITNESS_POLICY: ${said}`);
  });
});
