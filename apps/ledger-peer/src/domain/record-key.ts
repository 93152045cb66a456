/** A record of our own contract is written under `r/<type>/<id>`, in hex: see `apps/ledger-chaincode`. */
const RECORD_KEY = /^r\/((?:[0-9a-f]{2})+)\/((?:[0-9a-f]{2})+)$/;

/**
 * The record of a key in the world state of our contract, without the prefix that a channel has where several share one
 * of Fabric. Undefined: another key, or a record of another channel.
 */
export function recordOfKey(key: string, prefix: string): { readonly id: string; readonly type: string } | undefined {
  const [, ...parts] = RECORD_KEY.exec(key) ?? [];
  const [type, id] = parts.map((hex) => Buffer.from(hex, 'hex').toString('utf8'));
  if (type?.startsWith(prefix) !== true || id?.startsWith(prefix) !== true) return undefined;
  return { id: id.slice(prefix.length), type: type.slice(prefix.length) };
}
