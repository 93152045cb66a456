import { adminBase, type AdminCaller, adminRoute, OPERATORS_ONLY } from '@sealgate/admin-api';
import { closedObject, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { ChannelTrust, channelTrust, type ChannelTrustPorts } from '../domain/channel-trust.ts';

/** Routes of the admin listener for trust files of Fabric channels. */
export function adminTrustRoutes(ports: ChannelTrustPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      ...adminBase,
      permit: OPERATORS_ONLY,
      method: 'get',
      path: '/admin/v1/fabric/trust',
      operationId: 'readChannelTrust',
      summary: 'The trust file of a Fabric channel, for the verifier of proofs',
      description:
        'What the configuration of the channel says of its organisations, and the policies of our contract, as a peer ' +
        'answers it to this process. The peer is believed: compare it with what the organisations say themselves.',
      looks: true,
      query: closedObject({ channel: Type.String({ description: '`<networkId>.<name>`, of a mapping.' }) }),
      responses: { 200: { description: 'The trust file.', schema: ChannelTrust } },
      errors: ['FORBIDDEN', 'NOT_FOUND', 'CONTRACT_REFUSED', 'UNREADABLE_ANSWER', 'LEDGER_UNAVAILABLE'],
      async handler({ query: { channel } }) {
        return { status: 200, body: await channelTrust(ports, channel) };
      },
    }),
  ];
}
