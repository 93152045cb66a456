import { describe, expect, it } from '@jest/globals';
import { isAllowedAddress, parseNetworks, receiverAddress, urlProblem } from './receiver-address.ts';

const none = parseNetworks('192.0.2.99/32');
const isPublic = (address: string) => isAllowedAddress(address, none);

describe('the address of a receiver', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '169.253.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'may be %s, which is public',
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '127.0.0.1', '127.255.255.254'],
    ...['169.254.0.1', '169.254.169.254', '168.63.129.16', '172.16.0.1', '172.31.255.255', '192.0.0.192'],
    ...['192.168.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '240.0.0.1'],
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::7f00:1', '64:ff9b::a00:1'],
    ...['64:ff9b:1::a00:1', 'fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '2002:a00:1::', '2001::1'],
    ...['2001:db8::1', '100::1', '::ffff:0:127.0.0.1', '', 'localhost', 'fe80::1%eth0'],
  ])('is never %j', (address) => {
    expect(isPublic(address)).toBe(false);
  });

  it('may be of a network that the operator allows, and of no other', () => {
    const allowed = parseNetworks('10.1.0.0/16, fd00::/8,127.0.0.1/32');
    for (const address of ['10.1.2.3', 'fd12::1', '127.0.0.1', '8.8.8.8'])
      expect(isAllowedAddress(address, allowed)).toBe(true);
    for (const address of ['10.2.0.1', 'fc00::1', '127.0.0.2', '::1'])
      expect(isAllowedAddress(address, allowed)).toBe(false);
  });

  it('is asked for once, and refused if any address of the name is', async () => {
    const asked: string[] = [];
    const resolve = (answer: string[]) => async (host: string) => {
      asked.push(host);
      return answer;
    };
    const url = new URL('https://hooks.example.com/x');
    const of = (answer: string[]) => receiverAddress(url, { allowed: none, resolve: resolve(answer) });
    expect(await of(['93.184.215.14', '2606:2800::1'])).toBe('93.184.215.14');
    expect(await of(['93.184.215.14', '10.0.0.1'])).toBeUndefined();
    expect(await of([])).toBeUndefined();
    expect(asked).toEqual(['hooks.example.com', 'hooks.example.com', 'hooks.example.com']);
    const literal = new URL('https://[2606:2800::1]/');
    expect(await receiverAddress(literal, { allowed: none, resolve: resolve([]) })).toBe('2606:2800::1');
    expect(asked).toHaveLength(3);
  });
});

describe('the URL of a receiver', () => {
  it.each(['https://hooks.example.com', 'https://hooks.example.com:8443/a?b=c', 'https://8.8.8.8/'])(
    'may be %s',
    (url) => {
      expect(urlProblem(url, none)).toBeUndefined();
    },
  );

  it.each([
    ...['', 'hooks.example.com', '//hooks.example.com', 'http://hooks.example.com', 'ftp://hooks.example.com'],
    ...['https://me@hooks.example.com', 'https://me:you@hooks.example.com', 'https://8.8.8.8@127.0.0.1/'],
    ...[
      'https://hooks.example.com/#x',
      'https://',
      'https://exa mple.com',
      'file:///etc/passwd',
      'javascript:alert(1)',
    ],
  ])('is never %j', (url) => {
    expect(urlProblem(url, none)).toBeDefined();
  });

  it.each([
    ...['127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '017700000001', '127.1', '0', '0.0.0.0', '0x0'],
    ...['169.254.169.254', '2852039166', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::]', '[fd00:ec2::254]'],
    ...['127.0.0.1.', '１２７.0.0.1', '①②⑦.0.0.1', '127%2e0%2e0%2e1'],
  ])('is not taken if its host is %s, in whatever form', (host) => {
    expect(urlProblem(`https://${host}/`, none)).toContain('not public');
  });
});

describe('the networks that an operator allows', () => {
  it.each(['', '10.0.0.1', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', 'fd00::/129', 'x/8', '10.0.0.0/8,'])(
    'are never %j',
    (text) => {
      expect(() => parseNetworks(text)).toThrow('must be networks');
    },
  );
});
