import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import { errorCode, UsageError } from '../errors.ts';
import { given, isObject, type JsonObject } from '../json-object.ts';

/** How a sender signs: members of `signature`, for the scheme hmac, and of `token`. */
export interface SignatureOptions {
  readonly signatureHeader?: string;
  readonly algorithm?: string;
  readonly encoding?: string;
  readonly prefix?: string;
  readonly signed?: string;
  readonly signatureMember?: string;
  readonly separator?: string;
  readonly timestampHeader?: string;
  readonly timestampMember?: string;
  readonly timestampFormat?: string;
  readonly secretEncoding?: string;
  readonly tokenHeader?: string;
  readonly tokenPrefix?: string;
  readonly tokenEncoding?: string;
}

export const signatureOptions = (): Option[] => [
  new Option('--signature-header <name>', 'hmac: the header of the signature'),
  new Option('--algorithm <name>', 'hmac: sha256 (default), sha1 or sha512; ed25519 or ecdsa-p256 with a public key'),
  new Option('--encoding <name>', 'hmac: of the signature, hex (default) or base64'),
  new Option('--prefix <text>', 'hmac: the text before the signature, such as sha256='),
  new Option('--signed <template>', 'hmac: what is signed, of {body} (default), {timestamp}, {id}, {url}, {method}'),
  new Option('--signature-member <name>', 'hmac: name of the signature in a header like t=1,v1=2'),
  new Option('--separator <text>', 'hmac: separator of such a header: a comma (default), a semicolon or a space'),
  new Option('--timestamp-header <name>', 'hmac: the header of a signed timestamp'),
  new Option('--timestamp-member <name>', 'hmac: name of the timestamp in a header like t=1,v1=2'),
  new Option('--timestamp-format <name>', 'hmac: seconds (default), milliseconds or rfc3339'),
  new Option('--secret-encoding <name>', 'hmac: of the secret, text (default), hex or base64'),
  new Option('--token-header <name>', 'token: the header of the token'),
  new Option('--token-prefix <text>', "token: the text before the token, such as 'Bearer '"),
  new Option('--token-encoding <name>', 'token: text (default), or base64 for basic credentials'),
];

/**
 * The members that were given. A change needs the whole signature or token, so it passes those of the source as
 * `before`.
 */
export function signingOf(options: SignatureOptions, before: JsonObject = {}): { [member: string]: JsonValue } {
  const { algorithm, encoding, prefix, signed, signatureMember, separator } = options;
  const { timestampHeader, timestampMember, timestampFormat, secretEncoding } = options;
  const signature = given({
    ...{ header: options.signatureHeader, algorithm, encoding, prefix, signed, signatureMember, separator },
    ...{ timestampHeader, timestampMember, timestampFormat, secretEncoding },
  });
  const token = given({
    header: options.tokenHeader,
    prefix: options.tokenPrefix,
    encoding: options.tokenEncoding,
  });
  const over = (name: string, members: { [member: string]: JsonValue }): { [member: string]: JsonValue } => {
    if (Object.keys(members).length === 0) return {};
    const known = before[name];
    return { [name]: { ...(isObject(known) ? known : {}), ...members } };
  };
  return { ...over('signature', signature), ...over('token', token) };
}

export interface SecretOptions {
  readonly secretId?: string;
  readonly secretFile?: string;
}

export const secretOptions = (id: Option): Option[] => [
  id,
  new Option('--secret-file <file>', 'the secret from the sender, or its public key; by default one is generated'),
];

/** Senders that make the secret, so that a generated one would verify nothing. */
const MAKES_SECRET: ReadonlySet<string> = new Set([
  ...['clerk', 'deepgram', 'elevenlabs', 'hookdeck', 'openai', 'orb', 'paddle', 'replicate', 'resend', 'sendgrid'],
  ...['supabase', 'vercel', 'webflow'],
]);
const BASIC: ReadonlySet<string> = new Set(['chargebee', 'postmark']);

/**
 * The value, and whether it was generated here and must be shown. It is read from a file: command lines are visible to
 * others. Only a line break at its end is dropped; the API refuses other white space there.
 *
 * @throws UsageError where the sender makes the secret and no file was given, and where the file is empty.
 */
export function secretFrom({ secretFile }: SecretOptions, preset: string): { value: string; isNew: boolean } {
  if (secretFile === undefined) {
    if (MAKES_SECRET.has(preset))
      throw new UsageError(`The sender makes the secret: save it to a file, and name it with --secret-file.`);
    const text = randomBytes(32);
    if (preset === 'standard-webhooks') return { value: `whsec_${text.toString('base64')}`, isNew: true };
    const value = text.toString('base64url');
    return { value: BASIC.has(preset) ? `sealgate:${value}` : value, isNew: true };
  }
  const value = secretIn(secretFile);
  if (value === '') throw new UsageError(`${secretFile} is empty: it must hold the secret.`);
  return { value, isNew: false };
}

function secretIn(file: string): string {
  try {
    return readFileSync(resolve(file), 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${errorCode(error) ?? String(error)}).`, { cause: error });
  }
}
