import type { NetworkPlan } from '../network-plan.ts';

/** What `cryptogen generate --config` takes: authorities, nodes and users of every organisation. */
export function cryptoConfig({ orderer, organizations }: NetworkPlan): string {
  const peers = organizations.map(
    ({ name, domain }) => `
  - Name: ${name}
    Domain: ${domain}
    EnableNodeOUs: true
    Specs:
      - Hostname: peer
        SANS: *loopback
      # Only its TLS certificate is used: the contracts' servers show it to the peer that calls them.
      - Hostname: contract
        SANS: *loopback
    Users:
      Count: 1`,
  );
  return `# Everything listens on loopback, so that is the name every certificate is for.
OrdererOrgs:
  - Name: orderer
    Domain: ${orderer.domain}
    # Roles are told by the certificate's OU, so that a policy can ask for a peer or a client of an organisation.
    EnableNodeOUs: true
    Specs:
      - Hostname: orderer
        SANS: &loopback [localhost, 127.0.0.1]
PeerOrgs:${peers.join('')}
`;
}
