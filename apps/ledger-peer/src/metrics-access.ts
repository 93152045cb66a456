import { BlockList, isIP } from 'node:net';
import type { AuthRequest } from '@sealgate/http';

/** Whether a socket address is one of the configured ones. */
type AddressTest = (address: string) => boolean;

/**
 * Parses addresses and subnets (`10.0.0.0/8`), separated by commas. @throws Error listing invalid entries by position.
 */
export function parseMetricsAllow(text: string): AddressTest {
  const allowed = new BlockList();
  const wrong = text.split(',').flatMap((entry, index) => (addTo(allowed, entry.trim()) ? [] : [String(index + 1)]));
  if (wrong.length > 0) throw new Error(`must be addresses and subnets; invalid: entry ${wrong.join(', ')}`);
  return (address) => {
    // A dual-stack socket shows IPv4 clients as IPv6 addresses.
    const bare = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
    const family = isIP(bare);
    return family !== 0 && allowed.check(bare, family === 4 ? 'ipv4' : 'ipv6');
  };
}

function addTo(allowed: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  if (family === 0 || rest.length > 0) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (prefix === undefined) {
    allowed.addAddress(address, type);
    return true;
  }
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > most) return false;
  allowed.addSubnet(address, Number(prefix), type);
  return true;
}

/** A direct request from an allowed socket address, without a proxy's forwarding headers. */
export function isScraper(request: AuthRequest, isAllowed: AddressTest): boolean {
  const passedOn = ['forwarded', 'x-forwarded-for'].some((name) => request.header(name).length > 0);
  return !passedOn && isAllowed(request.socketAddress);
}
