import { randomBytes } from 'node:crypto';
import { UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { JsonMembers } from '../option-rows.ts';
import { readNamed } from '../read-named.ts';

/** A change needs the whole signature or token: adds the members that the source has. */
export function withOthers(body: JsonMembers, source: JsonObject): void {
  for (const name of ['signature', 'token']) {
    const [given, known] = [body[name], source[name]];
    if (isObject(given) && isObject(known)) body[name] = { ...known, ...given };
  }
}

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
  const value = readNamed(secretFile)
    .toString()
    .replace(/\r?\n$/, '');
  if (value === '') throw new UsageError(`${secretFile} is empty: it must hold the secret.`);
  return { value, isNew: false };
}
