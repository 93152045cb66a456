import { changeOf, closedObject, enumOf, lineOfText, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { DEFAULT_MAX_BYTES, MOST_BYTES } from './body-budget.ts';
import { AssetType, ChannelName, Limits, Name, Text, Time } from '../schemas.ts';

export const SCHEME_NAMES = ['standard-webhooks', 'github', 'stripe', 'shopify', 'slack', 'hmac', 'token'] as const;
const Scheme = enumOf('SourceScheme', SCHEME_NAMES);
export type SchemeName = Static<typeof Scheme>;

export const DEFAULT_TOLERANCE_SECONDS = 300;

/** In lower case once it is a setting. */
const HeaderName = Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" });
const MEMBER_NAME = '^[A-Za-z0-9_.-]{1,64}$';
const prefix = (description: string) => ({ ...lineOfText({ min: 0, max: 64 }), description });

/** How a delivery is signed: what, with which algorithm, and in which header. Most senders differ only in this. */
const SignatureForm = Type.Object({
  header: { ...HeaderName, description: 'The header of the signature.' },
  algorithm: enumOf('SignatureAlgorithm', ['sha1', 'sha256', 'sha512', 'ed25519', 'ecdsa-p256'], {
    description: 'HMAC with a hash, default sha256; or a signature that a public key verifies.',
  }),
  encoding: enumOf('SignatureEncoding', ['hex', 'base64'], { description: 'Default hex, which is in lower case.' }),
  prefix: prefix('The text before the signature, such as `sha256=`.'),
  signatureMember: Type.Optional(
    Type.String({
      pattern: MEMBER_NAME,
      description:
        'For a header that is a list, `t=1700000000,v1=5257a8...`: the name of the signatures, of which one suffices.',
    }),
  ),
  // With or without blanks around it.
  separator: Type.Optional(
    enumOf('SignatureSeparator', [',', ';', ' '], { description: 'Of the list; default a comma.' }),
  ),
  signed: Type.String({
    minLength: 1,
    maxLength: 256,
    description:
      'A template of what is signed, default `{body}`: literals and `{body}`, `{timestamp}`, `{id}` (the delivery id), ' +
      '`{url}` (PUBLIC_URL and the path of the source), `{method}` (POST).',
  }),
  // Where the timestamp is: a header of its own, or a member of the list.
  timestampHeader: Type.Optional({ ...HeaderName, description: 'The header of a signed timestamp.' }),
  timestampMember: Type.Optional(
    Type.String({ pattern: MEMBER_NAME, description: 'For a header that is a list: the name of the timestamp.' }),
  ),
  timestampFormat: Type.Optional(
    enumOf('SignatureTimestampFormat', ['seconds', 'milliseconds', 'rfc3339'], {
      description: 'Since the epoch, default seconds; or a time of RFC 3339.',
    }),
  ),
  secretEncoding: Type.Optional(
    enumOf('SignatureSecretEncoding', ['text', 'hex', 'base64'], {
      description: 'Of secrets for HMAC: default text, whose bytes are the key.',
    }),
  ),
});
export type SignatureForm = Readonly<Static<typeof SignatureForm>>;
const GivenSignature = named('SourceSignature', closedObject(Type.Partial(SignatureForm).properties));

/** Where a shared token is sent. */
const TokenPlace = Type.Object({
  header: { ...HeaderName, description: 'The header of the token.' },
  prefix: prefix('The text before the token, such as `Bearer `.'),
  encoding: Type.Optional(
    enumOf('TokenEncoding', ['text', 'base64'], {
      description: 'Default text. base64: the secret `user:password` is sent in base64, behind the prefix `Basic `.',
    }),
  ),
});
export type TokenPlace = Readonly<Static<typeof TokenPlace>>;
const GivenToken = named('SourceToken', closedObject(Type.Partial(TokenPlace).properties));

const placeOf = (what: string) =>
  Type.String({
    maxLength: 256,
    pattern: "^(?:header:[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}|/[^\\x00-\\x1f\\x7f]*)$",
    description: `The place of ${what}: \`header:<name>\`, or a JSON pointer (RFC 6901) into the body.`,
  });

/** What overrides the scheme of a source. */
const settings = {
  channels: Type.Array(ChannelName, {
    minItems: 1,
    maxItems: 8,
    uniqueItems: true,
    description: 'Channels of its records; default: the first of the network.',
  }),
  type: { ...AssetType, description: 'The type of every record.' },
  typeFrom: placeOf('the type'),
  // Deliveries without an id are identified by their bytes.
  deliveryIdFrom: placeOf('the delivery id, unless that of the scheme'),
  idFrom: placeOf('the record id, and of the delivery id where nothing else names it'),
  ownerFrom: placeOf('the owner of the record'),
  toleranceSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: `How far a signed timestamp may be from now. Default ${DEFAULT_TOLERANCE_SECONDS}.`,
  }),
  usualToleranceSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description:
      'What to set toleranceSeconds back to, while it is raised for a while: a note for people, without effect. ' +
      'A change of toleranceSeconds without it removes it.',
  }),
  allowedTypes: Type.Array(AssetType, {
    maxItems: 200,
    uniqueItems: true,
    description: 'Types that it may deliver. Absent: all. Empty: none.',
  }),
  limits: Limits,
  maxBytes: Type.Integer({
    minimum: DEFAULT_MAX_BYTES,
    maximum: MOST_BYTES,
    description: `Largest body. Default ${DEFAULT_MAX_BYTES}. On a Fabric ledger at most 4194304.`,
  }),
  keepRefusedHours: Type.Integer({
    minimum: 0,
    maximum: 72,
    description:
      'How long body and headers of refused deliveries are kept, encrypted, to be processed again. Default 0: not at all.',
  }),
};

/** `signature` is of the scheme hmac only, `token` of the scheme token. */
const SourceSettings = Type.Partial(Type.Object({ ...settings, signature: SignatureForm, token: TokenPlace }));
export type SourceSettings = Readonly<Static<typeof SourceSettings>>;

/** Settings as an operator gives them: what is left out comes from the preset, or is the usual. */
export const GivenSettings = Type.Partial(Type.Object({ ...settings, signature: GivenSignature, token: GivenToken }));
export type GivenSettings = Readonly<Static<typeof GivenSettings>>;

/** Null resets a setting to the default of the scheme; signature and token are given whole. */
export const SettingsChange = Type.Object({
  ...GivenSettings.properties,
  ...changeOf(Type.Partial(Type.Object(settings))).properties,
});
export type SettingsChange = Readonly<Static<typeof SettingsChange>>;

/** A secret as it is stored. */
export const KeptSecret = Type.Object({
  // The operator's name for it.
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' }),
  sealed: Text,
  createdAt: Time,
  isPublic: Type.Boolean({ description: 'A public key: anybody can verify its signatures again.' }),
});
export type KeptSecret = Readonly<Static<typeof KeptSecret>>;

/** A secret as sent by the operator; without a value it names an existing one. */
export const GivenSecret = closedObject({
  id: KeptSecret.properties.id,
  value: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, writeOnly: true })),
});
export type GivenSecret = Readonly<Static<typeof GivenSecret>>;

/** What receives the deliveries of one sender, for a network. */
export const Source = Type.Object({
  sourceId: Text,
  networkId: Text,
  name: { ...Name, description: 'A display name.' },
  scheme: Scheme,
  settings: SourceSettings,
  secrets: Type.Array(KeptSecret),
  enabled: Type.Boolean({ description: 'Whether deliveries are accepted; others are 404.' }),
  createdAt: Time,
  changedAt: Time,
});
export type Source = Readonly<Static<typeof Source>>;
