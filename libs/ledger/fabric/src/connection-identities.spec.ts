import { describe, expect, it } from '@jest/globals';
import { ConnectionFileError, parseConnection } from './connection-file.ts';

const network = { peers: [{ endpoint: 'localhost:7051' }], channels: [{ name: 'main' }] };
const clerk = { name: 'clerk', mspId: 'NorthMSP', certFile: 'clerk.pem', keyFile: 'clerk.key' };
const auditor = { name: 'auditor', mspFolder: 'auditor/msp' };
const several = { ...network, mspId: 'SouthMSP', identities: [clerk, auditor], default: 'clerk' };

const parse = (content: object) => parseConnection(content, '/etc/fabric/connection.json');
const faultsOf = (content: object): readonly string[] => {
  try {
    parse(content);
  } catch (error) {
    if (error instanceof ConnectionFileError) return error.faults;
    throw error;
  }
  return [];
};

describe('the identities of a connection file', () => {
  it('have names, files of their own, and the MSP id of the file if they have none', () => {
    const { identities, defaultIdentity, callers } = parse(several);
    expect(identities).toEqual([
      { name: 'clerk', mspId: 'NorthMSP', certFile: '/etc/fabric/clerk.pem', keyFile: '/etc/fabric/clerk.key' },
      { name: 'auditor', mspId: 'SouthMSP', mspFolder: '/etc/fabric/auditor/msp' },
    ]);
    expect([defaultIdentity, callers]).toEqual(['clerk', []]);
  });

  it('belong to callers by the family of their keys or a claim of their tokens', () => {
    const callers = [
      { keyFamily: 'Night-Shift', identity: 'auditor' },
      { keyFamily: '0123456789abcdef', identity: 'clerk' },
      { claim: 'groups', value: 'audit', identity: 'auditor' },
      { claim: 'groups', value: 'audit', issuer: 'https://id.example', identity: 'clerk' },
    ];
    expect(parse({ ...several, callers }).callers).toEqual([
      { keyFamily: 'night-shift', identity: 'auditor' },
      { keyFamily: '0123456789abcdef', identity: 'clerk' },
      { claim: 'groups', value: 'audit', issuer: undefined, identity: 'auditor' },
      { claim: 'groups', value: 'audit', issuer: 'https://id.example', identity: 'clerk' },
    ]);
  });

  it('need no default if it is null: then other callers are refused', () => {
    expect(parse({ ...several, default: null }).defaultIdentity).toBeUndefined();
  });

  it('may have been others before, which are retired', () => {
    expect(parse({ ...several, retired: ['guest', 'default'] }).retired).toEqual(['guest', 'default']);
    expect(parse(several).retired).toEqual([]);
    expect(faultsOf({ ...several, retired: ['guest', 'clerk'] })).toEqual(['/retired/1 is one of the identities']);
    const single = { ...network, mspId: 'NorthMSP', certFile: 'cert.pem', keyFile: 'key.pem' };
    expect(faultsOf({ ...single, retired: ['default'] })).toEqual(['/retired/0 is one of the identities']);
  });

  it('are refused with all faults at once', () => {
    const content = {
      ...network,
      keyFile: 'key.pem',
      identities: [clerk, { ...auditor, certFile: 'a.pem' }, { ...clerk, mspId: undefined }],
      default: 'nobody',
      callers: [
        { keyFamily: 'a', identity: 'nobody' },
        { keyFamily: 'A', identity: 'clerk' },
        { identity: 'clerk' },
        { keyFamily: 'b', claim: 'groups', value: 'x', identity: 'clerk' },
        { claim: 'groups', identity: 'clerk' },
      ],
    };
    expect(faultsOf(content)).toEqual([
      'the file has identities, so certFile, keyFile, mspFolder and keyPassphraseFile are theirs',
      '/identities/1 needs either certFile and keyFile, or mspFolder',
      '/identities/1 needs mspId, its own or that of the file',
      '/identities/2/name is there twice',
      '/identities/2 needs mspId, its own or that of the file',
      '/default names none of the identities',
      '/callers/0/identity names none of the identities',
      '/callers/1 is there twice',
      '/callers/2 needs either keyFamily, or claim and value',
      '/callers/3 needs either keyFamily, or claim and value',
      '/callers/4 needs either keyFamily, or claim and value',
    ]);
  });

  it.each<[string, object, string]>([
    ['no default', { default: undefined }, 'the file has identities, so it needs default: the name of one, or null'],
    ['no identity', { identities: [] }, '/identities must NOT have fewer than 1 items'],
    [
      '101 identities',
      { identities: Array.from({ length: 101 }, (_, n) => ({ ...clerk, name: n === 0 ? 'clerk' : `i${n}` })) },
      '/identities must NOT have more than 100 items',
    ],
    [
      '1001 callers',
      { callers: Array.from({ length: 1001 }, (_, n) => ({ keyFamily: `f${n}`, identity: 'clerk' })) },
      '/callers must NOT have more than 1000 items',
    ],
    ['a name with a line break', { identities: [{ ...clerk, name: 'a\nb' }] }, '/identities/0/name must match pattern'],
    ['an unknown member', { identities: [{ ...clerk, key: 'x' }] }, '/identities/0 has an unknown member key'],
    [
      'a family with a colon',
      { callers: [{ keyFamily: 'a:b', identity: 'clerk' }] },
      '/callers/0/keyFamily must match pattern',
    ],
  ])('are refused for %s', (_, changes, fault) => {
    expect(faultsOf({ ...several, ...changes })).toEqual([expect.stringContaining(fault)]);
  });

  it('are not beside a single one', () => {
    const single = { ...network, mspId: 'NorthMSP', certFile: 'cert.pem', keyFile: 'key.pem' };
    expect(faultsOf(single)).toEqual([]);
    expect(faultsOf({ ...single, default: 'clerk', callers: [] })).toEqual([
      'the file has default, and no identities',
      'the file has callers, and no identities',
    ]);
  });
});
