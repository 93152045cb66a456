import { AppError } from '@sealgate/errors';
import { named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { AnyJson } from './asset.ts';
import type { Mappings } from './mapping.ts';
import { asked } from './read-assets.ts';

const Text = Type.String();
const Pems = (description: string) => Type.Array(Text, { description });
const Unit = named(
  'RoleUnit',
  Type.Object({
    unit: Text,
    issuer: Type.Optional(Type.String({ description: 'PEM; only certificates by this authority have the role.' })),
  }),
);

/** Whom a verifier of proofs of a channel trusts. */
export const ChannelTrust = named(
  'ChannelTrust',
  Type.Object({
    v: Type.Literal(1),
    kind: Type.Literal('fabric-trust'),
    channel: Type.String({ description: "Fabric's name." }),
    configBlock: Type.Object({
      number: Type.Integer(),
      hash: Type.String({ description: 'SHA-256 of its header, as the next block names it.' }),
    }),
    organizations: Type.Array(
      Type.Object({
        mspId: Text,
        roots: Pems('Certificates of its root authorities, PEM.'),
        intermediates: Pems('Certificates of its intermediate authorities, PEM.'),
        revocationLists: Pems('PEM.'),
        units: orNull(
          Type.Object({
            client: Type.Optional(Unit),
            peer: Type.Optional(Unit),
            admin: Type.Optional(Unit),
            orderer: Type.Optional(Unit),
          }),
          { description: 'The units of certificates that name roles; null: the organisation has no roles.' },
        ),
      }),
    ),
    chaincodes: Type.Array(
      Type.Object({
        name: Text,
        policy: AnyJson({
          description:
            'Of endorsement: `{n, of: [policy]}`, so many of these, or `{mspId, role}`, one member in a role.',
        }),
      }),
      { description: 'Those that mappings name as our contract.' },
    ),
  }),
);
export type ChannelTrust = Static<typeof ChannelTrust>;

export interface ChannelTrustPorts {
  /** Rejects with LedgerUnavailableError, UnreadableAnswerError, ContractRefusal. */
  readonly readTrust: (channel: string, chaincodes: readonly string[]) => Promise<ChannelTrust>;
  readonly mappings: Mappings;
}

/** @throws AppError NOT_FOUND for a channel without a mapping of our contract, and as `asked` */
export async function channelTrust({ readTrust, mappings }: ChannelTrustPorts, channel: string): Promise<ChannelTrust> {
  const targets = mappings.targets.filter((target) => target.channel === channel && target.shape.kind === 'records');
  if (targets.length === 0) throw new AppError('NOT_FOUND', 'No mapping of our contract serves this channel.');
  return asked(
    readTrust(
      channel,
      targets.map(({ chaincode }) => chaincode),
    ),
  );
}
