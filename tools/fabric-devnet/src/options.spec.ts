import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseOptions, workspaceRoot } from './options.ts';

describe('the options', () => {
  it('default to the settings of the network', () => {
    expect(parseOptions('up', [], {})).toEqual({
      data: resolve(workspaceRoot, '.sealgate/fabric'),
      fresh: false,
      portBase: undefined,
      batchTimeoutMs: undefined,
      organizations: undefined,
      mutualTls: false,
      withBasic: false,
      contract: undefined,
      further: {},
      collections: {},
      json: false,
    });
  });

  it('resolve a relative path against the folder npm was called in', () => {
    const { data } = parseOptions('down', ['--data', 'net'], { INIT_CWD: '/home/ann' });
    expect(data).toBe('/home/ann/net');
  });

  it.each([
    ['--port-base', '1023'],
    ['--port-base', '65484'],
    ['--port-base', '4300.5'],
    ['--port-base', ''],
    ['--batch-timeout', '9'],
    ['--batch-timeout', '2s'],
    ['--organizations', '1'],
    ['--organizations', '4'],
  ])('reject %s %s', (option, value) => {
    expect(() => parseOptions('up', [option, value], {})).toThrow(`${option} must be a number from`);
  });

  it('accept the lowest and the highest port base', () => {
    expect(parseOptions('up', ['--port-base', '1024'], {}).portBase).toBe(1024);
    expect(parseOptions('up', ['--port-base', '65483'], {}).portBase).toBe(65_483);
  });

  it('take further contracts and their collections by name', () => {
    const given = ['--with', 'token=bin/token', '--with', 'deed=/deed=2.mjs', '--collections', 'deed=deed.json'];
    expect(parseOptions('up', given, { INIT_CWD: '/home/ann' })).toMatchObject({
      further: { token: '/home/ann/bin/token', deed: '/deed=2.mjs' },
      collections: { deed: '/home/ann/deed.json' },
    });
    expect(() => parseOptions('up', ['--with', 'token'], {})).toThrow('--with must be NAME=FILE; "token" is not.');
    expect(() => parseOptions('up', ['--with', '=token'], {})).toThrow('--with must be NAME=FILE');
    expect(() => parseOptions('up', ['--collections', 'a='], {})).toThrow('A path must not be empty.');
    expect(() => parseOptions('up', ['--with', 'a=b', '--with', 'a=c'], {})).toThrow('--with names a twice.');
  });

  it('report unknown options, with a hint to --help', () => {
    expect(() => parseOptions('down', ['--fresh'], {})).toThrow(/--fresh.*npm run fabric:down -- --help/);
    expect(() => parseOptions('up', ['here'], {})).toThrow(/npm run fabric:up -- --help/);
    expect(() => parseOptions('up', ['--data', ''], {})).toThrow('A path must not be empty.');
  });

  it('reject options that npm consumed', () => {
    expect(() => parseOptions('up', [], { npm_config_fresh: 'true' })).toThrow('npm run fabric:up -- --fresh');
    expect(() => parseOptions('up', [], { npm_config_with_basic: 'true' })).toThrow('-- --with-basic');
  });

  it('answer --help with every option', () => {
    expect(() => parseOptions('status', ['--help'], {})).toThrow(/--data[^]*--fresh[^]*--json/);
  });
});
