import { answered, closedObject, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { ChannelName, Limits, Name, NetworkId, OrNull, Time } from '../schemas.ts';

const DisplayName = { ...Name, description: 'A display name.' };

/** A network: its keys write to its channels, within its limits. */
const Network = Type.Object({
  networkId: NetworkId,
  name: OrNull(DisplayName),
  channels: Type.Array(ChannelName, {
    minItems: 1,
    maxItems: 64,
    uniqueItems: true,
    description: 'Names of channels; the first is the default.',
  }),
  // Null: the gateway's defaults.
  limits: OrNull(Limits),
  createdAt: Time,
});
export type Network = Readonly<Static<typeof Network>>;

export const NetworkChange = closedObject(Type.Partial(Type.Omit(Network, ['networkId', 'createdAt'])).properties);
export type NetworkChange = Readonly<Static<typeof NetworkChange>>;

export const NewNetwork = closedObject({
  networkId: NetworkId,
  ...NetworkChange.properties,
  name: Type.Optional(DisplayName),
  limits: Type.Optional(Limits),
});

/** A network as the admin API shows it, with the limits that apply. */
export const NetworkView = named(
  'Network',
  Type.Object({
    ...answered(Network).properties,
    limits: named('NetworkLimits', answered(Limits)),
  }),
);
