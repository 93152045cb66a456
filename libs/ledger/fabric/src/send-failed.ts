import { isOrderersAway } from './fabric-status.ts';
import { connectionReason } from './fabric-reasons.ts';
import type { FaultLog } from './fault-log.ts';
import type { GatewayPeers } from './gateway-peers.ts';

/** Backs off a peer at which a Submit or a status request failed: another one may reach the orderers that it cannot. */
export function sendFailed(
  { peers, faults }: { readonly peers: Pick<GatewayPeers, 'backOff'>; readonly faults: FaultLog },
  { channel, endpoint }: { readonly channel: string; readonly endpoint: string },
  error: Parameters<typeof isOrderersAway>[0],
): void {
  const { message } = error;
  const areOrderersAway = isOrderersAway(error);
  peers.backOff(endpoint, areOrderersAway ? undefined : `${connectionReason(message)}: ${message}`);
  if (areOrderersAway) faults.report('orderers_away', channel, `${endpoint}: ${message}`);
}
