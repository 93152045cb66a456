import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { errorCode, UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { JsonMembers, OptionRows } from '../option-rows.ts';

/** Options that set the members of `signature` by their own names. */
const ofSignature = (rows: Readonly<Record<string, string>>): OptionRows =>
  Object.fromEntries(
    Object.entries(rows).map(([flags, words]) => [
      flags,
      { words, sets: `signature.${new Option(flags).attributeName()}` },
    ]),
  );

/** How a sender signs: members of `signature`, for the scheme hmac, and of `token`. */
export const SIGNATURE: OptionRows = {
  '--signature-header <name>': { words: 'hmac: the header of the signature', sets: 'signature.header' },
  ...ofSignature({
    '--algorithm <name>': 'hmac: sha256 (default), sha1 or sha512; ed25519 or ecdsa-p256 with a public key',
    '--encoding <name>': 'hmac: of the signature, hex (default) or base64',
    '--prefix <text>': 'hmac: the text before the signature, such as sha256=',
    '--signed <template>': 'hmac: what is signed, of {body} (default), {timestamp}, {id}, {url}, {method}',
    '--signature-member <name>': 'hmac: name of the signature in a header like t=1,v1=2',
    '--separator <text>': 'hmac: separator of such a header: a comma (default), a semicolon or a space',
    '--timestamp-header <name>': 'hmac: the header of a signed timestamp',
    '--timestamp-member <name>': 'hmac: name of the timestamp in a header like t=1,v1=2',
    '--timestamp-format <name>': 'hmac: seconds (default), milliseconds or rfc3339',
    '--secret-encoding <name>': 'hmac: of the secret, text (default), hex or base64',
  }),
  '--token-header <name>': { words: 'token: the header of the token', sets: 'token.header' },
  '--token-prefix <text>': { words: "token: the text before the token, such as 'Bearer '", sets: 'token.prefix' },
  '--token-encoding <name>': {
    words: 'token: text (default), or base64 for basic credentials',
    sets: 'token.encoding',
  },
};

/** A change needs the whole signature or token: adds the members that the source has. */
export function withOthers(body: JsonMembers, source: JsonObject): void {
  for (const name of ['signature', 'token']) {
    const [given, known] = [body[name], source[name]];
    if (isObject(given) && isObject(known)) body[name] = { ...known, ...given };
  }
}

export const SECRET_FILE: OptionRows = {
  '--secret-file <file>': {
    words: 'the secret from the sender, or its public key; by default one is generated',
    sets: null,
  },
};

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
export function secretFrom(
  { secretFile }: { readonly secretFile?: string },
  preset: string,
): { value: string; isNew: boolean } {
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
