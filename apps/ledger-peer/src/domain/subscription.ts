import { closedObject, enumOf, lineOfText, named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { EventKind } from './ledger-event.ts';

const Text = Type.String();
const Time = Type.String({ description: 'RFC 3339 with milliseconds.' });
const SecretId = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,39}$', description: 'A name for the secret, as `k1`.' });

const State = enumOf('SubscriptionState', ['active', 'failing', 'paused', 'stopped'], {
  description:
    '`failing`: the newest attempt failed, and there will be another one. `stopped`: an event was not acknowledged for 72 ' +
    'hours. Resume with `paused: false`.',
});

/** A secret as it is stored; `sealed` never leaves the process. */
const KeptSecret = Type.Object({ id: SecretId, sealed: Text, createdAt: Time });
export type KeptSecret = Readonly<Static<typeof KeptSecret>>;

/** A receiver of events, with its secrets sealed. */
export const Subscription = Type.Object({
  subscriptionId: Text,
  url: Type.String({ minLength: 1, maxLength: 2048, description: 'https, of a public address.' }),
  channel: { ...lineOfText({ min: 1, max: 200 }), description: 'A channel of a mapping, as `acme.main`.' },
  types: orNull(
    Type.Array(lineOfText({ min: 1, max: 128 }), {
      minItems: 1,
      maxItems: 100,
      description: 'Null: all that are mapped.',
    }),
  ),
  events: orNull(Type.Array(EventKind, { minItems: 1, maxItems: 2, description: 'Null: both kinds.' })),
  secrets: Type.Array(KeptSecret),
  cursor: Type.String({ description: 'Of the newest acknowledged event.' }),
  /** Stored; an active one may be failing. */
  state: enumOf('StoredSubscriptionState', ['active', 'paused', 'stopped']),
  failingSince: orNull(Time),
  attempts: Type.Integer({ description: 'Of the event that is not acknowledged yet.' }),
  problem: orNull(
    Type.String({
      description:
        'Why the last attempt failed: `address_refused`, `no_address`, `no_answer`, `certificate_refused`, `redirect`, `status`; or `secret_sealed`: no secret can be opened.',
    }),
  ),
  deliveredAt: orNull(Time),
  createdAt: Time,
  changedAt: Time,
});
export type Subscription = Readonly<Static<typeof Subscription>>;

const GivenSecret = named(
  'SubscriptionSecret',
  closedObject({
    id: SecretId,
    value: Type.Optional(
      Type.String({
        pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$',
        description: '`whsec_` and 24 to 64 bytes in base64. Absent: one is generated, unless there is one of this id.',
      }),
    ),
  }),
);
export type GivenSecret = Readonly<Static<typeof GivenSecret>>;

const { url, channel, types, events } = Subscription.properties;
const secrets = Type.Optional(
  Type.Array(GivenSecret, { minItems: 1, maxItems: 2, description: 'The complete list; each of them signs.' }),
);
const paused = Type.Optional(Type.Boolean());

export const NewSubscription = named(
  'NewSubscription',
  closedObject({
    url,
    channel,
    types: Type.Optional(types),
    events: Type.Optional(events),
    secrets,
    from: Type.Optional(
      Type.String({
        description: '`0`: from the first event that can be read; a cursor: after that event. Default: from now on.',
      }),
    ),
    paused,
  }),
);
export type NewSubscription = Readonly<Static<typeof NewSubscription>>;

export const SubscriptionChange = named(
  'SubscriptionChange',
  closedObject({
    url: Type.Optional(url),
    types: Type.Optional(types),
    events: Type.Optional(events),
    secrets,
    paused,
  }),
);
export type SubscriptionChange = Readonly<Static<typeof SubscriptionChange>>;

const { secrets: _secrets, ...members } = Subscription.properties;
const ShownSecret = Type.Object({
  id: SecretId,
  createdAt: Time,
  value: Type.Optional(Type.String({ description: 'Only in the answer to the request that generated it.' })),
});

/** As the admin API returns it. */
export const SubscriptionRow = named(
  'Subscription',
  Type.Object({
    ...members,
    state: State,
    paused: Type.Boolean({ description: 'Nothing is sent: an operator paused it, or it was stopped.' }),
    secrets: Type.Array(ShownSecret),
  }),
);
export type SubscriptionRow = Static<typeof SubscriptionRow>;

/** `generated`: values of new secrets by id, shown once. */
export function subscriptionRow(subscription: Subscription, generated: ReadonlyMap<string, string>): SubscriptionRow {
  const shown = subscription.secrets.map(({ id, createdAt }) => {
    const value = generated.get(id);
    return { id, createdAt, ...(value === undefined ? {} : { value }) };
  });
  const { types: its, events: kinds, ...rest } = subscription;
  const paused = rest.state !== 'active';
  const state = !paused && rest.failingSince !== null ? 'failing' : rest.state;
  return { ...rest, state, paused, types: its && [...its], events: kinds && [...kinds], secrets: shown };
}
