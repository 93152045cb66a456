import { isIP, isIPv4 } from 'node:net';

/** Which proxies are believed, as Express's `trust proxy` takes it. */
export type TrustedProxies = false | number | readonly string[];

const NAMED_RANGES: ReadonlySet<string> = new Set(['loopback', 'linklocal', 'uniquelocal']);

/**
 * Reads `false`, a number of hops, or addresses and subnets separated by commas. `true` is refused: it believes whatever
 * anybody writes into X-Forwarded-For.
 * @throws Error saying what it must be.
 */
export function parseTrustProxy(text: string): TrustedProxies {
  if (text === 'false') return false;
  if (/^[0-9]{1,2}$/.test(text)) return Number(text);
  const ranges = text.split(',').map((range) => range.trim());
  if (!ranges.every(isRange)) {
    throw new Error('must be false, a number of hops, or addresses, subnets, loopback, linklocal, uniquelocal');
  }
  return ranges;
}

function isRange(text: string): boolean {
  if (NAMED_RANGES.has(text)) return true;
  const [address = '', bits, ...rest] = text.split('/');
  if (isIP(address) === 0 || rest.length > 0) return false;
  return bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}
