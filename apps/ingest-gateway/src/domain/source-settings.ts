import { AppError, type Fault } from '@sealgate/errors';
import { PRESETS, type PresetName } from './schemes/presets.ts';
import { signedIdHeader } from './schemes/signature.ts';
import { PLACEHOLDERS, templateParts, undelimitedId } from './schemes/template.ts';
import { DEFAULT_TOLERANCE_SECONDS } from './source.ts';
import type { GivenSettings, SchemeName, SettingsChange, SignatureForm, SourceSettings, TokenPlace } from './source.ts';

/**
 * The scheme and the settings of a new source.
 *
 * @throws AppError INVALID_REQUEST unless exactly one of scheme and preset is given, or where a header is missing.
 */
export function resolvePreset(
  { scheme, preset }: { readonly scheme?: SchemeName | undefined; readonly preset?: PresetName | undefined },
  given: GivenSettings,
): { readonly scheme: SchemeName; readonly settings: SourceSettings } {
  const name = scheme ?? preset;
  if (name === undefined || (scheme !== undefined && preset !== undefined))
    throw invalid([{ in: 'body', pointer: '/scheme', detail: 'Either scheme or preset is needed, and not both.' }]);
  const base = PRESETS[name];
  // One place of the type replaces the other.
  const { typeFrom, ...others } = base.settings;
  const usual = given.type === undefined && typeFrom !== undefined ? { typeFrom, ...others } : others;
  return { scheme: base.scheme, settings: completed({ ...usual, ...given }, base.settings) };
}

/** The settings of a source after a change. @throws AppError INVALID_REQUEST where a header is missing. */
export function settingsAfter(before: SourceSettings, change: SettingsChange): SourceSettings {
  // What it was raised from is of no use once it was set to something else.
  const usual = change.toleranceSeconds === undefined ? {} : { usualToleranceSeconds: undefined };
  const all = { ...before, ...usual, ...change };
  const entries = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  const { signature, token } = change;
  return {
    ...(Object.fromEntries(entries) as SourceSettings),
    ...(signature === undefined ? {} : { signature: wholeSignature(signature) }),
    ...(token === undefined ? {} : { token: wholeToken(token) }),
  };
}

function completed(given: GivenSettings, base: SourceSettings): SourceSettings {
  const { signature, token, ...rest } = given;
  return {
    ...rest,
    ...(signature === undefined ? {} : { signature: wholeSignature({ ...base.signature, ...signature }) }),
    ...(token === undefined ? {} : { token: wholeToken({ ...base.token, ...token }) }),
  };
}

/** Short names of the most common templates. */
const TEMPLATES: Readonly<Record<string, string>> = { body: '{body}', 'timestamp.body': '{timestamp}.{body}' };

function wholeSignature({ header, ...given }: Partial<SignatureForm>): SignatureForm {
  if (header === undefined) throw invalid([needed('/signature/header')]);
  const { signed = '{body}' } = given;
  const usual = { algorithm: 'sha256', encoding: 'hex', prefix: '' } as const;
  return { ...usual, ...given, header, signed: TEMPLATES[signed] ?? signed };
}

function wholeToken({ header, prefix = '', encoding }: Partial<TokenPlace>): TokenPlace {
  if (header === undefined) throw invalid([needed('/token/header')]);
  return { header, prefix, ...(encoding === undefined ? {} : { encoding }) };
}

const needed = (pointer: string): Fault => ({ in: 'body', pointer, detail: 'The header is needed.' });

/** Headers that hold credentials: their values would be written to the ledger. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/** @throws AppError INVALID_REQUEST with every fault. */
export function checkSettings(
  scheme: SchemeName,
  settings: SourceSettings,
  { hasPublicUrl }: { readonly hasPublicUrl: boolean },
): void {
  const { signature, token, type, typeFrom, idFrom, ownerFrom, deliveryIdFrom } = settings;
  const faults: Fault[] = [];
  const fault = (pointer: string, detail: string) => faults.push({ in: 'body', pointer, detail });
  if ((scheme === 'hmac') !== (signature !== undefined))
    fault('/signature', 'signature is needed for the scheme hmac, and for no other.');
  if ((scheme === 'token') !== (token !== undefined))
    fault('/token', 'token is needed for the scheme token, and for no other.');
  for (const [name, place] of Object.entries({ typeFrom, idFrom, ownerFrom, deliveryIdFrom })) {
    const header = place?.startsWith('header:') === true ? place.slice('header:'.length) : '';
    if (CREDENTIALS.has(header) || header === token?.header)
      fault(`/${name}`, 'The header holds a credential, which must not be written to a record.');
  }
  if (!isRaised(settings))
    fault('/usualToleranceSeconds', 'It is what toleranceSeconds was before it was raised, so it is less.');
  if (type !== undefined && typeFrom !== undefined) fault('/typeFrom', 'type and typeFrom exclude each other.');
  if (signature !== undefined) {
    const has = { idHeader: signedIdHeader(settings) !== undefined, publicUrl: hasPublicUrl };
    for (const [name, detail] of signatureFaults(signature, has)) fault(`/signature/${name}`, detail);
  }
  if (faults.length > 0) throw invalid(faults);
}

/** Whether the tolerance is above what it is usually, if that is noted. */
const isRaised = ({ usualToleranceSeconds = 0, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS }: SourceSettings) =>
  usualToleranceSeconds < toleranceSeconds;

type NamedFault = readonly [name: keyof SignatureForm, detail: string];

function signatureFaults(
  form: SignatureForm,
  has: { readonly idHeader: boolean; readonly publicUrl: boolean },
): NamedFault[] {
  const parts = templateParts(form.signed);
  if (parts === undefined) return [['signed', 'Braces enclose placeholders only.']];
  const names = parts.flatMap((part) => ('name' in part ? [part.name] : []));
  const faults = [...templateFaults(names), ...timestampFaults(form, names.includes('timestamp')), ...listFaults(form)];
  if (names.includes('id') && !has.idHeader)
    faults.push(['signed', '{id} is the delivery id: deliveryIdFrom or idFrom must name its header.']);
  else {
    const detail = undelimitedId(form.signed, form.timestampFormat);
    if (detail !== undefined) faults.push(['signed', detail]);
  }
  if (names.includes('url') && !has.publicUrl)
    faults.push(['signed', '{url} needs the variable PUBLIC_URL of the service, which is not set.']);
  if (form.secretEncoding !== undefined && !form.algorithm.startsWith('sha'))
    faults.push(['secretEncoding', 'A public key has no encoding: its form tells it.']);
  return faults;
}

function templateFaults(names: readonly string[]): NamedFault[] {
  const unknown = names.find((name) => !PLACEHOLDERS.some((known) => known === name));
  const faults: NamedFault[] = [];
  if (unknown !== undefined)
    faults.push(['signed', `{${unknown}} is not a placeholder: there are ${listed(PLACEHOLDERS)}.`]);
  if (names.filter((name) => name === 'body').length !== 1)
    faults.push(['signed', '{body} is needed once: otherwise the signature would not cover the content.']);
  return faults;
}

function timestampFaults(form: SignatureForm, isSigned: boolean): NamedFault[] {
  const { timestampMember, timestampHeader, timestampFormat } = form;
  const places = [timestampHeader, timestampMember].filter((place) => place !== undefined).length;
  if (isSigned && places !== 1)
    return [['timestampHeader', 'Where {timestamp} is signed, either timestampHeader or timestampMember is needed.']];
  if (!isSigned && (places > 0 || timestampFormat !== undefined))
    return [['signed', 'A timestamp proves nothing unless it is signed: {timestamp} is missing.']];
  return [];
}

function listFaults({ signatureMember, timestampMember, separator }: SignatureForm): NamedFault[] {
  if (signatureMember === undefined && (timestampMember !== undefined || separator !== undefined))
    return [['signatureMember', 'timestampMember and separator are of a list, which needs signatureMember.']];
  if (signatureMember !== undefined && signatureMember === timestampMember)
    return [['timestampMember', 'Signature and timestamp are two members.']];
  return [];
}

const listed = (names: readonly string[]): string => names.map((name) => `{${name}}`).join(', ');

function invalid(faults: readonly Fault[]): AppError {
  return new AppError('INVALID_REQUEST', 'The source is not valid.', { faults });
}
