import { closedObject, enumOf, named } from '@sealgate/http';
import { defined } from '@sealgate/json';
import { answered, answerOf } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { DEFAULT_MAX_BYTES } from '../domain/body-budget.ts';
import { pathOfSource } from '../domain/caller.ts';
import { PRESET_NAMES } from '../domain/schemes/presets.ts';
import { SCHEMES } from '../domain/schemes/schemes.ts';
import {
  DEFAULT_TOLERANCE_SECONDS,
  GivenSecret,
  GivenSettings,
  KeptSecret,
  SettingsChange,
  Source,
} from '../domain/source.ts';
import { OrNull } from '../schemas.ts';

const Preset = enumOf('SourcePreset', PRESET_NAMES, {
  description: 'A sender, or a scheme: fills in scheme and settings, which other members of the body override.',
});

const given = Type.Partial(Type.Pick(Source, ['name', 'scheme', 'enabled'])).properties;
const secretsRange = { minItems: 1, maxItems: 5 };

/** The body of POST. */
export const NewSourceBody = closedObject({
  name: Source.properties.name,
  scheme: given.scheme,
  preset: Type.Optional(Preset),
  secrets: Type.Array(closedObject(Type.Required(GivenSecret).properties), {
    ...secretsRange,
    description: 'Each with a name and the value that the sender has; a public key where the scheme has one.',
  }),
  enabled: given.enabled,
  ...GivenSettings.properties,
});

/** The body of PATCH. */
export const SourceChangeBody = closedObject({
  name: given.name,
  secrets: Type.Optional(
    Type.Array(GivenSecret, {
      ...secretsRange,
      description: 'The complete new list. An existing secret needs no value.',
    }),
  ),
  enabled: given.enabled,
  ...SettingsChange.properties,
});

const { sealed: _sealed, ...secretMembers } = answered(KeptSecret).properties;
const { sourceId, networkId, name, scheme, enabled, createdAt, changedAt } = answered(Source).properties;
const SettingsRow = answered(GivenSettings);

/** A source as the admin API returns it, without secrets. */
export const SourceRow = named(
  'Source',
  Type.Object({
    sourceId,
    networkId,
    name,
    scheme,
    path: Type.String({ description: 'The path for its deliveries on the public listener.' }),
    url: OrNull(
      Type.String({
        description: 'What to enter at the sender: PUBLIC_URL and the path. Null: PUBLIC_URL is not set.',
      }),
    ),
    secrets: Type.Array(named('SourceSecret', Type.Object(secretMembers))),
    enabled,
    ...SettingsRow.properties,
    typeFrom: OrNull(Type.String({ description: 'The default of the scheme where the source has none.' })),
    deliveryIdFrom: OrNull(
      Type.String({
        description: 'The default of the scheme where the source has none. Null: that of idFrom, or a hash.',
      }),
    ),
    // They have a default.
    toleranceSeconds: Type.Integer(),
    maxBytes: Type.Integer(),
    keepRefusedHours: Type.Integer(),
    createdAt,
    changedAt,
  }),
);

export function sourceRowOf(source: Source, publicUrl: string | undefined): Static<typeof SourceRow> {
  const { settings, secrets, createdAt, changedAt, ...own } = source;
  const { sourceId, scheme } = own;
  const path = pathOfSource(sourceId);
  const { type, typeFrom = SCHEMES[scheme].typeFrom, deliveryIdFrom = SCHEMES[scheme].deliveryIdFrom } = settings;
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, maxBytes = DEFAULT_MAX_BYTES, keepRefusedHours = 0 } = settings;
  return {
    ...own,
    path,
    url: publicUrl === undefined ? null : publicUrl + path,
    secrets: secrets.map(({ sealed: _, ...secret }) => secret),
    ...answerOf(SettingsRow, settings),
    typeFrom: type === undefined ? (typeFrom ?? null) : null,
    deliveryIdFrom: deliveryIdFrom ?? null,
    toleranceSeconds,
    maxBytes,
    keepRefusedHours,
    createdAt,
    changedAt,
  };
}

/** Settings with the names of headers in lower case. */
export function lowerCased<Settings extends SettingsChange>(settings: Settings): Settings {
  const { typeFrom, deliveryIdFrom, idFrom, ownerFrom, signature, token } = settings;
  const given = defined({
    ...settings,
    typeFrom: placeOf(typeFrom),
    deliveryIdFrom: placeOf(deliveryIdFrom),
    idFrom: placeOf(idFrom),
    ownerFrom: placeOf(ownerFrom),
    signature:
      signature &&
      defined({
        ...signature,
        header: signature.header?.toLowerCase(),
        timestampHeader: signature.timestampHeader?.toLowerCase(),
      }),
    token: token && defined({ ...token, header: token.header?.toLowerCase() }),
  });
  return given as Settings; // The same members.
}

function placeOf(place: string | null | undefined): string | null | undefined {
  return place?.startsWith('header:') === true ? place.toLowerCase() : place;
}
