import type { NetworkPlan, OrganizationPlan } from './network-plan.ts';

/**
 * What a surface takes as FABRIC_CONFIG (libs/ledger/fabric): one organisation's user, with its own peer first and the
 * others to fail over to. Every channel of ours is kept on `both`, where one organisation alone can write nothing.
 */
export function connectionFile(organization: OrganizationPlan, plan: NetworkPlan): string {
  const { mspId, user } = organization;
  const peers = [organization, ...plan.organizations.filter((other) => other !== organization)];
  const content = {
    mspId,
    certFile: user.certFile,
    keyFile: user.keyFile,
    peers: peers.map(({ peer, domain }) => ({
      endpoint: `127.0.0.1:${peer.port}`,
      tlsCaFile: peer.tls.caFile,
      // One of the names in the certificate: TLS knows no server names that are addresses (RFC 6066).
      serverNameOverride: `peer.${domain}`,
    })),
    channels: plan.channels.map(({ name }) => (name === 'both' ? { name, holds: ['*'] } : { name })),
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
