import { isIP } from 'node:net';

/** Whether only this machine can reach the host: `localhost` or an address, one of IPv6 with or without its brackets. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/**
 * The URL, where nobody on the way can read or change what goes over it: https, or http on loopback. Undefined for every other
 * text, and for a URL that holds a user or a password.
 */
export function safeUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined;
}
