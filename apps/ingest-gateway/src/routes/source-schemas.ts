import { closedObject, enumOf, lineOfText, named } from '@sealgate/http';
import { defined } from '@sealgate/json';
import { Type, type Static, type TProperties } from '@sinclair/typebox';
import { AssetType, ChannelName, Limits, Name, OrNull, Text, Time } from '../schemas.ts';
import { DEFAULT_MAX_BYTES, MOST_BYTES } from '../domain/body-budget.ts';
import { DEFAULT_TOLERANCE_SECONDS, pathOfSource, SCHEME_NAMES, type SourceSettings } from '../domain/caller.ts';
import type { GivenSecret, Source } from '../domain/manage-sources.ts';
import { PRESET_NAMES } from '../domain/schemes/presets.ts';
import {
  SECRET_ENCODINGS,
  SEPARATORS,
  SIGNATURE_ALGORITHMS,
  SIGNATURE_ENCODINGS,
  TIMESTAMP_FORMATS,
  TOKEN_ENCODINGS,
  type SignatureForm,
  type TokenPlace,
} from '../domain/schemes/scheme-settings.ts';
import { SCHEMES } from '../domain/schemes/schemes.ts';
import type { GivenSettings, SettingsChange } from '../domain/source-settings.ts';

const HeaderName = Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" });

const Place = Type.String({
  maxLength: 256,
  pattern: "^(?:header:[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}|/[^\\x00-\\x1f\\x7f]*)$",
  description: '`header:<name>`, or a JSON pointer (RFC 6901) into the body.',
});

const Scheme = enumOf('SourceScheme', SCHEME_NAMES);

const Preset = enumOf('SourcePreset', PRESET_NAMES, {
  description: 'A sender, or a scheme: fills in scheme and settings, which other members of the body override.',
});

const described = (description: string) => ({ ...lineOfText({ min: 0, max: 64 }), description });

/** All members may be left out. */
const optional = <const Members extends TProperties>(members: Members) => Type.Partial(Type.Object(members)).properties;

const MemberName = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' });

const signatureMembers = {
  header: HeaderName,
  algorithm: enumOf('SignatureAlgorithm', SIGNATURE_ALGORITHMS, {
    description: 'HMAC with a hash, default sha256; or a signature that a public key verifies.',
  }),
  encoding: enumOf('SignatureEncoding', SIGNATURE_ENCODINGS, { description: 'Default hex, which is in lower case.' }),
  prefix: described('The text before the signature, such as `sha256=`.'),
  signatureMember: Type.String({
    pattern: '^[A-Za-z0-9_.-]{1,64}$',
    description:
      'For a header that is a list, `t=1700000000,v1=5257a8...`: the name of the signatures, of which one suffices.',
  }),
  separator: enumOf('SignatureSeparator', SEPARATORS, { description: 'Of the list; default a comma.' }),
  signed: Type.String({
    minLength: 1,
    maxLength: 256,
    description:
      'A template of what is signed, default `{body}`: literals and `{body}`, `{timestamp}`, `{id}` (the delivery id), ' +
      '`{url}` (PUBLIC_URL and the path of the source), `{method}` (POST).',
  }),
  timestampHeader: HeaderName,
  timestampMember: MemberName,
  timestampFormat: enumOf('SignatureTimestampFormat', TIMESTAMP_FORMATS, {
    description: 'Since the epoch, default seconds; or a time of RFC 3339.',
  }),
  secretEncoding: enumOf('SignatureSecretEncoding', SECRET_ENCODINGS, {
    description: 'Of secrets for HMAC: default text, whose bytes are the key.',
  }),
};

const Signature = named('SourceSignature', closedObject(optional(signatureMembers)));

const tokenMembers = {
  header: HeaderName,
  prefix: described('The text before the token, such as `Bearer `.'),
  encoding: enumOf('TokenEncoding', TOKEN_ENCODINGS, {
    description: 'Default text. base64: the secret `user:password` is sent in base64, behind the prefix `Basic `.',
  }),
};

const Token = named('SourceToken', closedObject(optional(tokenMembers)));

const SecretId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' });
const SecretValue = Type.String({ minLength: 1, maxLength: 1024, writeOnly: true });

const settings = {
  channels: Type.Array(ChannelName, { minItems: 1, maxItems: 8, uniqueItems: true }),
  type: AssetType,
  typeFrom: Place,
  deliveryIdFrom: Place,
  idFrom: Place,
  ownerFrom: Place,
  toleranceSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: `How far a signed timestamp may be from now. Default ${DEFAULT_TOLERANCE_SECONDS}.`,
  }),
  allowedTypes: Type.Array(AssetType, { maxItems: 200, uniqueItems: true, description: 'Absent: all. Empty: none.' }),
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
  signature: Signature,
  token: Token,
};

/** The body of POST. */
export const NewSourceBody = closedObject({
  name: Name,
  scheme: Type.Optional(Scheme),
  preset: Type.Optional(Preset),
  secrets: Type.Array(closedObject({ id: SecretId, value: SecretValue }), { minItems: 1, maxItems: 5 }),
  enabled: Type.Optional(Type.Boolean()),
  channels: Type.Optional(settings.channels),
  type: Type.Optional(settings.type),
  typeFrom: Type.Optional(settings.typeFrom),
  deliveryIdFrom: Type.Optional(settings.deliveryIdFrom),
  idFrom: Type.Optional(settings.idFrom),
  ownerFrom: Type.Optional(settings.ownerFrom),
  toleranceSeconds: Type.Optional(settings.toleranceSeconds),
  allowedTypes: Type.Optional(settings.allowedTypes),
  limits: Type.Optional(settings.limits),
  maxBytes: Type.Optional(settings.maxBytes),
  keepRefusedHours: Type.Optional(settings.keepRefusedHours),
  signature: Type.Optional(settings.signature),
  token: Type.Optional(settings.token),
});

/** The body of PATCH. */
export const SourceChangeBody = closedObject({
  name: Type.Optional(Name),
  secrets: Type.Optional(
    Type.Array(closedObject({ id: SecretId, value: Type.Optional(SecretValue) }), {
      minItems: 1,
      maxItems: 5,
      description: 'The complete new list. An existing secret needs no value.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean()),
  channels: Type.Optional(OrNull(settings.channels)),
  type: Type.Optional(OrNull(settings.type)),
  typeFrom: Type.Optional(OrNull(settings.typeFrom)),
  deliveryIdFrom: Type.Optional(OrNull(settings.deliveryIdFrom)),
  idFrom: Type.Optional(OrNull(settings.idFrom)),
  ownerFrom: Type.Optional(OrNull(settings.ownerFrom)),
  toleranceSeconds: Type.Optional(OrNull(settings.toleranceSeconds)),
  allowedTypes: Type.Optional(OrNull(settings.allowedTypes)),
  limits: Type.Optional(OrNull(settings.limits)),
  maxBytes: Type.Optional(OrNull(settings.maxBytes)),
  keepRefusedHours: Type.Optional(OrNull(settings.keepRefusedHours)),
  signature: Type.Optional(settings.signature),
  token: Type.Optional(settings.token),
});

/** A source as the admin API returns it, without secrets. */
export const SourceRow = named(
  'Source',
  Type.Object({
    sourceId: Text,
    networkId: Text,
    name: Text,
    scheme: Scheme,
    path: Type.String({ description: 'The path for its deliveries on the public listener.' }),
    url: OrNull(
      Type.String({
        description: 'What to enter at the sender: PUBLIC_URL and the path. Null: PUBLIC_URL is not set.',
      }),
    ),
    secrets: Type.Array(
      named(
        'SourceSecret',
        Type.Object({
          id: Text,
          createdAt: Time,
          isPublic: Type.Boolean({ description: 'A public key: anybody can verify its signatures again.' }),
        }),
      ),
    ),
    enabled: Type.Boolean(),
    channels: OrNull(Type.Array(Text)),
    type: OrNull(Text),
    typeFrom: OrNull(Type.String({ description: 'The default of the scheme where the source has none.' })),
    deliveryIdFrom: OrNull(
      Type.String({
        description: 'The default of the scheme where the source has none. Null: that of idFrom, or a hash.',
      }),
    ),
    idFrom: OrNull(Text),
    ownerFrom: OrNull(Text),
    toleranceSeconds: Type.Integer(),
    allowedTypes: OrNull(Type.Array(Text)),
    limits: OrNull(Limits),
    maxBytes: Type.Integer(),
    keepRefusedHours: Type.Integer(),
    signature: OrNull(Signature),
    token: OrNull(Token),
    createdAt: Time,
    changedAt: Time,
  }),
);

type BodySettings = Omit<Static<typeof SourceChangeBody>, 'name' | 'secrets' | 'enabled'>;

/** The settings in a body, with header names in lower case. */
export function settingsOf(body: BodySettings): SettingsChange {
  const { channels, type, toleranceSeconds, allowedTypes, limits, signature, token } = body;
  const { maxBytes, keepRefusedHours } = body;
  return defined({
    channels,
    type,
    toleranceSeconds,
    allowedTypes,
    limits,
    maxBytes,
    keepRefusedHours,
    typeFrom: placeOf(body.typeFrom),
    deliveryIdFrom: placeOf(body.deliveryIdFrom),
    idFrom: placeOf(body.idFrom),
    ownerFrom: placeOf(body.ownerFrom),
    signature: signature && givenSignature(signature),
    token: token && givenToken(token),
  });
}

/** The settings of a new source, which contain no null. */
export const newSettingsOf = (body: Static<typeof NewSourceBody>): GivenSettings => settingsOf(body) as GivenSettings;

export function secretsOf(
  given: readonly { readonly id: string; readonly value?: string | undefined }[],
): GivenSecret[] {
  return given.map(({ id, value }) => ({ id, ...(value === undefined ? {} : { value }) }));
}

const bodySettings = ({ maxBytes = DEFAULT_MAX_BYTES, keepRefusedHours = 0 }: SourceSettings) => ({
  maxBytes,
  keepRefusedHours,
});

const urlOf = (publicUrl: string | undefined, sourceId: string): string | null =>
  publicUrl === undefined ? null : publicUrl + pathOfSource(sourceId);

export function sourceRowOf(source: Source, publicUrl: string | undefined): Static<typeof SourceRow> {
  const { sourceId, networkId, name, scheme, enabled, settings: own } = source;
  return {
    sourceId,
    networkId,
    name,
    scheme,
    enabled,
    path: pathOfSource(sourceId),
    url: urlOf(publicUrl, sourceId),
    secrets: source.secrets.map(({ id, createdAt, isPublic }) => ({ id, createdAt, isPublic })),
    channels: own.channels === undefined ? null : [...own.channels],
    type: own.type ?? null,
    typeFrom: own.type === undefined ? (own.typeFrom ?? SCHEMES[scheme].typeFrom ?? null) : null,
    deliveryIdFrom: own.deliveryIdFrom ?? SCHEMES[scheme].deliveryIdFrom ?? null,
    idFrom: own.idFrom ?? null,
    ownerFrom: own.ownerFrom ?? null,
    toleranceSeconds: own.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS,
    allowedTypes: own.allowedTypes === undefined ? null : [...own.allowedTypes],
    limits: own.limits ?? null,
    ...bodySettings(own),
    signature: own.signature ?? null,
    token: own.token ?? null,
    createdAt: source.createdAt.toISOString(),
    changedAt: source.changedAt.toISOString(),
  };
}

function givenSignature(given: Static<typeof Signature>): Partial<SignatureForm> {
  const { header, timestampHeader, ...rest } = given;
  return defined({ ...rest, header: header?.toLowerCase(), timestampHeader: timestampHeader?.toLowerCase() });
}

function givenToken({ header, ...rest }: Static<typeof Token>): Partial<TokenPlace> {
  return defined({ ...rest, header: header?.toLowerCase() });
}

function placeOf(place: string | null | undefined): string | null | undefined {
  return place?.startsWith('header:') === true ? place.toLowerCase() : place;
}
