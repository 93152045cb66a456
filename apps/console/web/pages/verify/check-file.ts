import type { Jwks } from '@sealgate/envelope';
import { isPartnerEnvelope } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { settleSignatures, type NoteVerifier } from '@sealgate/merkle';
import {
  UnreadableError,
  checkCheckpoint,
  checkEnvelope,
  checkPack,
  checkReceipt,
  jointVerifier,
  parseJson,
  readKeySet,
  readPackFile,
  readReceiptFile,
  verifierFrom,
  type ReceiptFile,
  type Report,
} from '@sealgate/verify/checks';

/** Far above every proof, envelope and pack; what is larger is refused before it is read. */
export const FILE_MAX_BYTES = 8 * 1024 * 1024;

export type Kind = 'receipt' | 'checkpoint' | 'envelope' | 'pack';

/** What a dropped file is, and what checking it found. */
export type Checked =
  | { readonly kind: Kind; readonly name: string; readonly report: Report; readonly receipt?: ReceiptFile }
  | { readonly kind: 'keys'; readonly name: string; readonly jwks: string }
  | { readonly kind: 'unreadable'; readonly name: string; readonly why: string };

/** What the reader trusts, as texts. */
export interface Pins {
  /** C2SP verifier keys, one a line. */
  readonly logKeys: string;
  /** A JWK set. */
  readonly jwks: string;
  /** The header Evidence-Signature of an envelope. */
  readonly signature: string;
}

/** Finds out what a file is and checks it, in this page alone. Never throws for what the file or the pins hold. */
export async function checkFile(
  file: { readonly name: string; readonly bytes: Uint8Array },
  pins: Pins,
): Promise<Checked> {
  try {
    return await judge(file, pins);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { kind: 'unreadable', name: file.name, why: error.message };
  }
}

async function judge({ name, bytes }: { name: string; bytes: Uint8Array }, pins: Pins): Promise<Checked> {
  const text = new TextDecoder().decode(bytes);
  if (isNote(text)) {
    const verifier = requiredVerifier(pins);
    const report = await settleSignatures(() => checkCheckpoint({ note: text, where: name, verifier }));
    return { kind: 'checkpoint', name, report };
  }
  if (bytes.length === 0) throw new UnreadableError(`${name} is empty.`);
  const value = parseJson(bytes, name);
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  if ('receipt' in members && 'proof' in members) return receiptOf(name, value, pins);
  if (isPartnerEnvelope(value)) return envelopeOf(name, value, pins);
  if ('pack_hash' in members) return packOf(name, value, pins);
  if (Array.isArray(members['keys'])) return { kind: 'keys', name, jwks: text };
  throw new UnreadableError(`${name} is no proof, checkpoint, envelope, pack or key set that is known here.`);
}

/** A signed note has a blank line before signature lines, which begin with an em dash. */
const isNote = (text: string): boolean => /\n\n— \S/.test(text);

async function receiptOf(name: string, value: JsonValue, pins: Pins): Promise<Checked> {
  const verifier = requiredVerifier(pins);
  const receipt = readReceiptFile(name, value);
  const report = await settleSignatures(() => checkReceipt({ file: receipt, verifier }));
  return { kind: 'receipt', name, report, receipt };
}

async function envelopeOf(name: string, envelope: { [member: string]: JsonValue }, pins: Pins): Promise<Checked> {
  const jwks = jwksOf(pins);
  const jws = pins.signature.trim().replace(/^evidence-signature:\s*/i, '');
  const signature = jwks !== undefined && jws !== '' ? { jws, jwks } : undefined;
  const verifier = pins.logKeys.trim() === '' ? undefined : requiredVerifier(pins);
  const report = await settleSignatures(() => checkEnvelope({ name, envelope, signature, verifier }));
  return { kind: 'envelope', name, report };
}

async function packOf(name: string, value: JsonValue, pins: Pins): Promise<Checked> {
  const file = readPackFile(name, value);
  const verifier = requiredVerifier(pins);
  const report = await settleSignatures(() => checkPack({ file, verifier, jwks: jwksOf(pins) }));
  return { kind: 'pack', name, report };
}

function requiredVerifier({ logKeys }: Pins): NoteVerifier {
  const lines = logKeys
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) {
    throw new UnreadableError('No key to check with: paste the key of the log above, from where you trust it.');
  }
  return jointVerifier(
    lines.map((line, index) => verifierFrom(line, `Line ${index + 1} of the keys`)),
    'The list of keys',
  );
}

function jwksOf({ jwks }: Pins): Jwks | undefined {
  if (jwks.trim() === '') return undefined;
  return readKeySet('The key set', parseJson(new TextEncoder().encode(jwks), 'The key set'));
}
