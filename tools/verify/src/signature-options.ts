import type { Jwks } from '@sealgate/envelope';
import type { CommandHost } from './cli.ts';
import { readKeySet } from './key-set.ts';
import { pathIn, readJson, readText } from './read-file.ts';
import { UnreadableError } from './unreadable-error.ts';

/** What a command that judges a signed document is told of its signature. */
export interface SignatureOptions {
  /** A detached JWS, or a file that holds one. */
  readonly signature?: string | undefined;
  /** A file with the pinned key set. */
  readonly jwks?: string | undefined;
}

/** The signature and the keys to trust; undefined where neither was given. Throws UnreadableError for one without the other. */
export async function readSignature(
  host: CommandHost,
  { signature, jwks }: SignatureOptions,
): Promise<{ readonly jws: string; readonly jwks: Jwks } | undefined> {
  if (signature === undefined && jwks === undefined) return undefined;
  if (signature === undefined) throw new UnreadableError('--jwks is given without --signature.');
  if (jwks === undefined) throw new UnreadableError('--signature is given without --jwks: pin the keys to trust.');
  const { name, value } = await readJson(pathIn(host.directory, jwks));
  const jws = looksLikeJws(signature) ? signature : signatureIn(await readText(pathIn(host.directory, signature)));
  return { jws, jwks: readKeySet(name, value) };
}

/** A file holds the signature alone, or the headers of the answer that it came with. */
function signatureIn(text: string): string {
  const header = /^evidence-signature:[ \t]*(\S+)[ \t]*\r?$/im.exec(text);
  return header?.[1] ?? text.trim();
}

/** Three dotted parts, and far longer than file names are. */
function looksLikeJws(text: string): boolean {
  return text.length > 100 && /^[\w-]+\.[\w-]*\.[\w-]*$/.test(text);
}
