import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/**
 * Networks that are not on the internet, or answer for the machine itself (IANA's special-purpose registries), and the
 * address under which a cloud provider serves every machine.
 */
const NOT_PUBLIC_4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
];
/** All that is allocated; loopback, mapped, translated, unique local and link-local addresses are outside of it. */
const PUBLIC_6 = ['2000::/3'];
/** Of that: Teredo and other protocols, documentation, and 6to4, which holds an IPv4 address. */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** Networks by their addresses and prefixes. */
export type Networks = BlockList;

/** @throws Error naming the entries that are no network, by position. */
export function parseNetworks(text: string): Networks {
  const entries = text.split(',').map((entry) => entry.trim());
  const wrong = entries.flatMap((entry, at) => (networkIn(entry) === undefined ? [String(at + 1)] : []));
  if (wrong.length > 0) throw new Error(`must be networks, as 10.0.0.0/8; invalid: entry ${wrong.join(', ')}`);
  return networksOf(entries);
}

const networksOf = (entries: readonly string[]): Networks => {
  const list = new BlockList();
  for (const { address, prefix, family } of entries.flatMap((entry) => networkIn(entry) ?? []))
    list.addSubnet(address, prefix, family);
  return list;
};

function networkIn(entry: string) {
  const [, address = '', digits = ''] = /^([0-9a-fA-F.:]+)\/(0|[1-9][0-9]{0,2})$/.exec(entry) ?? [];
  const version = isIP(address);
  const prefix = Number(digits);
  if (version === 0 || digits === '' || prefix > (version === 4 ? 32 : 128)) return undefined;
  return { address, prefix, family: version === 4 ? ('ipv4' as const) : ('ipv6' as const) };
}

const notPublic4 = networksOf(NOT_PUBLIC_4);
const public6 = networksOf(PUBLIC_6);
const notPublic6 = networksOf(NOT_PUBLIC_6);

/** Whether an address may be connected to: it is public, or of a network that the operator allows. */
export function isAllowedAddress(address: string, allowed: Networks): boolean {
  const version = isIP(address);
  if (version === 4) return allowed.check(address) || !notPublic4.check(address);
  // A mapped address is an IPv4 address by another name: BlockList compares it with networks of both kinds.
  if (version !== 6) return false;
  return allowed.check(address, 'ipv6') || (public6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6'));
}

/** Why a URL is not taken for a receiver; undefined: it may be one, as far as can be told without a look-up. */
export function urlProblem(text: string, allowed: Networks): string | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:') return 'It must be an https URL.';
  if (url.username !== '' || url.password !== '') return 'It must have no user or password.';
  if (url.hash !== '') return 'It must have no fragment.';
  const host = hostOf(url);
  const isRefused = isIP(host) !== 0 && !isAllowedAddress(host, allowed);
  return isRefused ? 'Its address is not public, and SUBSCRIPTION_ALLOWED_CIDRS does not name it.' : undefined;
}

/** The host without the brackets of an IPv6 address. The parser has turned every form of an address into one. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const resolveByDns: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

/**
 * The address to connect to, asked for once. Undefined if the name has none, or one that is not allowed: such a name
 * points inside, whatever else it points to.
 */
export async function receiverAddress(
  url: URL,
  { allowed, resolve }: { readonly allowed: Networks; readonly resolve: Resolve },
): Promise<string | undefined> {
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  return addresses.every((address) => isAllowedAddress(address, allowed)) ? addresses[0] : undefined;
}
