import { isIP } from 'node:net';

/** Whether the host is loopback: `localhost` or an address, IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/**
 * Parses a URL with transport security: https, or http on loopback. Undefined for any other text, and for a URL with
 * user or password.
 */
export function safeUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined;
}
