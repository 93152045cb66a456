import { isPartnerEnvelope, type EligibilityDocument, type PartnerEnvelope } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import {
  UnreadableError,
  eligibilityIn,
  isFabricProof,
  isFabricTrust,
  parseJson,
  readConsistencyPath,
  readDecisionFile,
  readDeclarationFile,
  readFabricProof,
  readPackFile,
  readReceiptFile,
  readWriteAnswer,
  type AnsweredRecord,
  type Connection,
  type DecisionFile,
  type DeclarationFile,
  type FabricProofFile,
  type ReceiptFile,
} from '@sealgate/verify/checks';
import * as texts from './file-texts.ts';

export interface NamedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A file by type. */
export type Sorted = { readonly name: string } & (
  | { readonly is: 'note'; readonly note: string }
  /** A C2SP tlog-proof file or a C2SP tlog-policy. */
  | { readonly is: 'log-proof' | 'policy'; readonly text: string }
  /** `bodySha256`: hash of the delivery that the record was made from. */
  | {
      readonly is: 'receipt';
      readonly file: ReceiptFile;
      readonly value: JsonValue;
      readonly bodySha256: string | undefined;
    }
  | { readonly is: 'record'; readonly value: JsonValue; readonly bodySha256: string }
  | { readonly is: 'answer'; readonly records: readonly AnsweredRecord[] }
  | { readonly is: 'decision'; readonly file: DecisionFile }
  | { readonly is: 'declaration'; readonly file: DeclarationFile }
  | { readonly is: 'fabric'; readonly file: FabricProofFile }
  | { readonly is: 'trust'; readonly text: string }
  | { readonly is: 'envelope'; readonly envelope: PartnerEnvelope }
  | { readonly is: 'eligibility'; readonly document: EligibilityDocument }
  | { readonly is: 'pack'; readonly file: ReturnType<typeof readPackFile> }
  | { readonly is: 'keys'; readonly jwks: string }
  | { readonly is: 'path'; readonly connection: Connection }
  /**
   * Content, a delivery or a signed document, which may be anything; `why` it has no other type, and no `value` if it
   * is not JSON.
   */
  | { readonly is: 'other'; readonly bytes: Uint8Array; readonly value: JsonValue | undefined; readonly why: string }
  | { readonly is: 'unreadable'; readonly why: string }
);

type Members = { readonly [member: string]: JsonValue };

/** Determines the type of a file. Never throws because of its content. */
export function sortFile({ name, bytes }: NamedFile): Sorted {
  if (bytes.length === 0) return { is: 'unreadable', name, why: texts.isEmpty(name) };
  const text = textIn(bytes);
  if (text?.startsWith('c2sp.org/tlog-proof@') === true) return { is: 'log-proof', name, text };
  if (text !== undefined && isPolicy(text)) return { is: 'policy', name, text };
  if (text !== undefined && isNote(text)) return { is: 'note', name, note: text };
  let value: JsonValue;
  try {
    value = parseJson(bytes, name);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { is: 'other', name, bytes, value: undefined, why: error.message };
  }
  try {
    return known(name, value, text ?? '') ?? { is: 'other', name, bytes, value, why: texts.isNotKnown(name) };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { is: 'unreadable', name, why: error.message };
  }
}

/** Throws UnreadableError if a member is missing. */
function known(name: string, value: JsonValue, text: string): Sorted | undefined {
  if (isPath(value)) return { is: 'path', name, connection: readConsistencyPath(name, value) };
  return knownOfFabric(name, value, text) ?? knownDocument(name, value, text);
}

function knownOfFabric(name: string, value: JsonValue, text: string): Sorted | undefined {
  if (isFabricTrust(value)) return { is: 'trust', name, text };
  return isFabricProof(value) ? { is: 'fabric', name, file: readFabricProof(name, value) } : undefined;
}

function knownDocument(name: string, value: JsonValue, text: string): Sorted | undefined {
  const members = membersOf(value);
  if ('decision' in members && 'following' in members)
    return { is: 'decision', name, file: readDecisionFile(name, value) };
  if ('receipt' in members && 'proof' in members) {
    const bodySha256 = bodyHashIn(membersOf(members['receipt']));
    return { is: 'receipt', name, file: readReceiptFile(name, value), value, bodySha256 };
  }
  if (isPartnerEnvelope(value)) return { is: 'envelope', name, envelope: value };
  const document = eligibilityIn(value);
  if (document !== undefined) return { is: 'eligibility', name, document };
  if ('pack_hash' in members) return { is: 'pack', name, file: readPackFile(name, value) };
  if (Array.isArray(members['keys'])) return { is: 'keys', name, jwks: text };
  if (Array.isArray(members['records'])) return { is: 'answer', name, records: readWriteAnswer(name, value) };
  if ('statement' in members && 'checkpoint' in members)
    return { is: 'declaration', name, file: readDeclarationFile(name, value) };
  const bodySha256 = bodyHashIn(members);
  return bodySha256 === undefined ? undefined : { is: 'record', name, value, bodySha256 };
}

/** A signed note has a blank line before its signature lines, which start with an em dash. */
const isNote = (text: string): boolean => /\n\r?\n— \S/.test(text);

/**
 * The first line that is neither empty nor a comment starts with a keyword of policies, and one line defines the
 * quorum.
 */
function isPolicy(text: string): boolean {
  const lines = text.split('\n').filter((line) => !/^[ \t]*(?:#|$)/.test(line));
  return (
    /^[ \t]*(?:log|witness|group|quorum)[ \t]/.test(lines[0] ?? '') &&
    lines.some((line) => /^[ \t]*quorum[ \t]/.test(line))
  );
}

const isPath = (value: JsonValue): boolean =>
  'consistencyPath' in membersOf(value) ||
  (Array.isArray(value) && value.length > 0 && value.every((hash) => /^[0-9a-f]{64}$/i.test(String(hash))));

const membersOf = (value: JsonValue | undefined): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

function bodyHashIn(record: Members): string | undefined {
  const { bodySha256 } = membersOf(record['extra']);
  return typeof bodySha256 === 'string' ? bodySha256 : undefined;
}

/** Decodes strict UTF-8; undefined if the bytes are invalid. */
function textIn(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // Deliveries and signed documents may be anything.
  }
}
