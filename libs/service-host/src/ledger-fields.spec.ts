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
    expect(loadConfig(witnessFields, {})).toEqual({
      ledgerWitnesses: undefined,
      ledgerChannelWitnesses: new Map(),
      ledgerWitnessWaitMs: 5000,
    });
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

describe('LEDGER_CHANNEL_WITNESS_POLICIES', () => {
  const of = (policies: unknown) =>
    loadConfig(witnessFields, {
      LEDGER_CHANNEL_WITNESS_POLICIES: typeof policies === 'string' ? policies : JSON.stringify(policies),
    }).ledgerChannelWitnesses;

  it('has a policy for each channel, inline or in a file, also one without witnesses', () => {
    const file = join(folder, 'channel-policy');
    writeFileSync(file, policyOf('https://two.example/'));
    const policies = of({
      'acme.main': policyOf('https://one.example'),
      'acme.second': `file://${file}`,
      'acme.plain': 'quorum none',
    });
    const urls = [...policies].map(([channel, { witnesses }]) => [channel, witnesses.map(({ url }) => url)]);
    expect(urls).toEqual([
      ['acme.main', ['https://one.example']],
      ['acme.second', ['https://two.example']],
      ['acme.plain', []],
    ]);
    expect(policies.get('acme.plain')!.isQuorum(new Set())).toBe(true);
  });

  it.each([
    ['quorum none', 'must be JSON'],
    ['[]', 'must be an object'],
    ['null', 'must be an object'],
    [{ main: 'quorum none' }, 'must name channels as <networkId>.<name>, not main'],
    [{ 'acme.main/e1': 'quorum none' }, 'must name channels'],
    [{ 'acme.main': null }, 'must give acme.main a policy as a text'],
    [{ 'acme.main': policyOf('http://one.example') }, 'for acme.main: must give the witness w1 a URL'],
    [{ 'acme.main': `file://${folder}/none` }, 'for acme.main: must name a file that can be read'],
  ])('is refused: %j', (policies, said) => {
    expect(() => of(policies)).toThrow(`LEDGER_CHANNEL_WITNESS_POLICIES: ${said}`);
  });
});
