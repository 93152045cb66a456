import { closedObject, enumOf, lineOfText, named } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import { AssetType, ChannelName, LimitsBody, Name, OrNull, Text, Time } from './schemas.ts';
import type { GivenSecret, Source, SourceChange } from '../domain/manage-sources.ts';
import { HMAC_ALGORITHMS, HMAC_ENCODINGS, SCHEMES, type HmacForm } from '../domain/schemes/schemes.ts';
import { DEFAULT_TOLERANCE_SECONDS, pathOfSource, SCHEME_NAMES, type SourceSettings } from '../domain/caller.ts';

const HeaderName = Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" });

const Place = Type.String({
  maxLength: 256,
  pattern: "^(?:header:[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}|/[^\\x00-\\x1f\\x7f]*)$",
  description: '`header:<name>`, or a JSON pointer (RFC 6901) into the body.',
});

const Scheme = enumOf('SourceScheme', SCHEME_NAMES);

const Signature = named(
  'SourceSignature',
  closedObject({
    header: HeaderName,
    algorithm: enumOf('HmacAlgorithm', HMAC_ALGORITHMS),
    encoding: enumOf('HmacEncoding', HMAC_ENCODINGS, { description: 'Hex is in lower case.' }),
    prefix: Type.Optional(lineOfText({ min: 0, max: 64 })),
    signed: enumOf('HmacSigned', ['body', 'timestamp.body'], {
      description: '`timestamp.body`: the value of timestampHeader in whole seconds, a dot, and the body.',
    }),
    timestampHeader: Type.Optional(HeaderName),
  }),
);

const Token = named(
  'SourceToken',
  closedObject({ header: HeaderName, prefix: Type.Optional(lineOfText({ min: 0, max: 64 })) }),
);

const SecretId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' });
const SecretValue = Type.String({ minLength: 1, maxLength: 1024, writeOnly: true });

const settings = {
  channels: Type.Array(ChannelName, { minItems: 1, maxItems: 8, uniqueItems: true }),
  type: AssetType,
  typeFrom: Place,
  idFrom: Place,
  ownerFrom: Place,
  toleranceSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: `How far a signed timestamp may be from now. Default ${DEFAULT_TOLERANCE_SECONDS}.`,
  }),
  allowedTypes: Type.Array(AssetType, { maxItems: 200, uniqueItems: true, description: 'Absent: all. Empty: none.' }),
  limits: LimitsBody,
  signature: Signature,
  token: Token,
};

/** The body of POST. */
export const NewSourceBody = closedObject({
  name: Name,
  scheme: Scheme,
  secrets: Type.Array(closedObject({ id: SecretId, value: SecretValue }), { minItems: 1, maxItems: 5 }),
  enabled: Type.Optional(Type.Boolean()),
  channels: Type.Optional(settings.channels),
  type: Type.Optional(settings.type),
  typeFrom: Type.Optional(settings.typeFrom),
  idFrom: Type.Optional(settings.idFrom),
  ownerFrom: Type.Optional(settings.ownerFrom),
  toleranceSeconds: Type.Optional(settings.toleranceSeconds),
  allowedTypes: Type.Optional(settings.allowedTypes),
  limits: Type.Optional(settings.limits),
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
  idFrom: Type.Optional(OrNull(settings.idFrom)),
  ownerFrom: Type.Optional(OrNull(settings.ownerFrom)),
  toleranceSeconds: Type.Optional(OrNull(settings.toleranceSeconds)),
  allowedTypes: Type.Optional(OrNull(settings.allowedTypes)),
  limits: Type.Optional(OrNull(settings.limits)),
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
    idFrom: OrNull(Text),
    ownerFrom: OrNull(Text),
    toleranceSeconds: Type.Integer(),
    allowedTypes: OrNull(Type.Array(Text)),
    limits: OrNull(LimitsBody),
    signature: OrNull(Signature),
    token: OrNull(Token),
    createdAt: Time,
    changedAt: Time,
  }),
);

type GivenSettings = Omit<Static<typeof SourceChangeBody>, 'name' | 'secrets' | 'enabled'>;

/** The settings in a body, with header names in lower case. */
export function settingsOf(body: GivenSettings): SourceChange['settings'] {
  const { signature, token, typeFrom, idFrom, ownerFrom } = body;
  const { channels, type, toleranceSeconds, allowedTypes, limits } = body;
  const given = {
    ...{ channels, type, toleranceSeconds, allowedTypes, limits },
    ...{ typeFrom: placeOf(typeFrom), idFrom: placeOf(idFrom), ownerFrom: placeOf(ownerFrom) },
    signature: signature === undefined ? undefined : formOf(signature),
    token: token === undefined ? undefined : { header: token.header.toLowerCase(), prefix: token.prefix ?? '' },
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The settings of a new source, which contain no null. */
export function newSettingsOf(body: Static<typeof NewSourceBody>): SourceSettings {
  return settingsOf(body) as SourceSettings;
}

/** Drops undefined members, for `exactOptionalPropertyTypes`. */
export function secretsOf(
  given: readonly { readonly id: string; readonly value?: string | undefined }[],
): GivenSecret[] {
  return given.map(({ id, value }) => ({ id, ...(value === undefined ? {} : { value }) }));
}

export function sourceRowOf(source: Source): Static<typeof SourceRow> {
  const { sourceId, networkId, name, scheme, enabled, settings: own } = source;
  return {
    ...{ sourceId, networkId, name, scheme, enabled },
    path: pathOfSource(sourceId),
    secrets: source.secrets.map(({ id, createdAt, isPublic }) => ({ id, createdAt, isPublic })),
    channels: own.channels === undefined ? null : [...own.channels],
    type: own.type ?? null,
    typeFrom: own.type === undefined ? (own.typeFrom ?? SCHEMES[scheme].typeFrom ?? null) : null,
    idFrom: own.idFrom ?? null,
    ownerFrom: own.ownerFrom ?? null,
    toleranceSeconds: own.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS,
    allowedTypes: own.allowedTypes === undefined ? null : [...own.allowedTypes],
    limits: own.limits ?? null,
    signature: own.signature === undefined ? null : signatureRow(own.signature),
    token: own.token ?? null,
    createdAt: source.createdAt.toISOString(),
    changedAt: source.changedAt.toISOString(),
  };
}

const SIGNED_BEFORE = { body: '', 'timestamp.body': '{timestamp}.' } as const;

function formOf(given: Static<typeof Signature>): HmacForm {
  const { header, algorithm, encoding, prefix = '', signed, timestampHeader } = given;
  return {
    ...{ header: header.toLowerCase(), algorithm, encoding, prefix, signedBefore: SIGNED_BEFORE[signed] },
    ...(timestampHeader === undefined ? {} : { timestampHeader: timestampHeader.toLowerCase() }),
  };
}

function signatureRow({ signedBefore, timestampHeader, ...form }: HmacForm): Static<typeof Signature> {
  const signed = signedBefore === '' ? 'body' : 'timestamp.body';
  return { ...form, signed, ...(timestampHeader === undefined ? {} : { timestampHeader }) };
}

function placeOf(place: string | null | undefined): string | null | undefined {
  return place?.startsWith('header:') === true ? place.toLowerCase() : place;
}
