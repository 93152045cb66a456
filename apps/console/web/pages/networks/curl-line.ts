import { usePublicUrl } from '../../shell/session.ts';

export const useGatewayAddress = (): string => usePublicUrl('ingest-gateway', 'https://YOUR-GATEWAY');

/** A shell command that writes one record, and can be repeated without writing it twice. */
export function curlLine({ address, networkId, key }: { address: string; networkId: string; key: string }): string {
  return [
    `curl -sS ${address}/${networkId}`,
    `-H 'X-Api-Key: ${key}'`,
    `-H 'Content-Type: application/json'`,
    `-H 'Idempotency-Key: hello-1'`,
    `-d '{"id":"hello-1","type":"demo.greeting","data":{"text":"Hello"}}'`,
  ].join(' ');
}
