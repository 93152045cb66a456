const NAME = /^[a-z0-9-]{1,40}$/;
const NETWORK_ID = /^[a-z0-9][a-z0-9-]{1,62}$/;

/** The name of a channel within its network: `^[a-z0-9-]{1,40}$`. */
export function isChannelName(name: string): boolean {
  return NAME.test(name);
}

/** `^[a-z0-9][a-z0-9-]{1,62}$`. */
export function isNetworkId(networkId: string): boolean {
  return NETWORK_ID.test(networkId);
}

/** `<networkId>.<name>`: the form used in every path, config value, receipt and checkpoint. */
export function channelOf(networkId: string, name: string): string {
  return `${networkId}.${name}`;
}

/** Parses `<networkId>.<name>`; undefined if it is invalid. */
export function parseChannel(channel: string): { networkId: string; name: string } | undefined {
  const dot = channel.indexOf('.');
  const networkId = channel.slice(0, dot);
  const name = channel.slice(dot + 1);
  return dot > 0 && isNetworkId(networkId) && isChannelName(name) ? { networkId, name } : undefined;
}
