import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkContracts, keepCollections } from './contract-settings.ts';
import { networkPlan } from './network-plan.ts';

const programsOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `/bin/${name}`]));

describe('the contracts of a network', () => {
  it('may have up to seven further names, and private collections', () => {
    const names = ['records', 'basic', 'a', 'b2', 'token-erc-20', 'd_d', 'e', 'f', 'g'];
    expect(() => checkContracts(programsOf(names), { 'token-erc-20': '/c.json' })).not.toThrow();
    expect(() => checkContracts(programsOf([...names, 'h']), {})).toThrow(/room for 7 contracts .*--fresh/);
    expect(() => checkContracts(programsOf(names), { h: '/c.json' })).toThrow('add --with h=FILE.');
  });

  it.each(['', 'peer', 'orderer', 'Token', '7token', '-token', 'token-', 'a--b', 'a/b', '../a', 'a b', 'a'.repeat(41)])(
    'cannot be called %j',
    (name) => {
      expect(() => checkContracts(programsOf([name]), {})).toThrow(`"${name}" cannot be the name of a contract`);
    },
  );
});

describe('the collections of a contract', () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));
  const plan = () => networkPlan(data, { portBase: 4300, batchTimeoutMs: 200 });
  const kept = () => readFileSync(join(data, 'collections/token.json'), 'utf8');

  it('are copied into the folder of the network, and may be given again', () => {
    const from = join(data, 'given.json');
    writeFileSync(from, '[1]');
    keepCollections(plan(), { token: from }, {});
    expect(kept()).toBe('[1]');
    keepCollections(plan(), { token: from }, { token: '/bin/token' });
    // A start that failed before the organisations approved may be repeated with others.
    writeFileSync(from, '[2]');
    keepCollections(plan(), { token: from }, {});
    expect(kept()).toBe('[2]');
  });

  it('cannot change once the contract exists', () => {
    const from = join(data, 'given.json');
    writeFileSync(from, '[1]');
    expect(() => keepCollections(plan(), { token: from }, { token: '/bin/token' })).toThrow('add --fresh');
    expect(() => keepCollections(plan(), { token: join(data, 'absent.json') }, {})).toThrow(
      'absent.json with the collections of token is missing.',
    );
  });
});
