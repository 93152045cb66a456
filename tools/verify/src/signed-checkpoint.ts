import { parseLogName } from '@sealgate/envelope';
import { type Checkpoint, type NoteVerifier, parseCheckpoint, parseNote, type StatedVerifier } from '@sealgate/merkle';
import { lackOfWitnesses } from './given-keys.ts';
import type { Reporter } from './report.ts';

export interface NoteInput {
  /** The signed note, with its newlines. */
  readonly note: string;
  /** Its location, for reports. */
  readonly where: string;
}

/**
 * Checks signature and origin of a checkpoint. Returns its content also if the signature failed, so that later steps
 * can be checked; undefined if it is not a checkpoint. The report fails in both cases.
 */
export function openCheckpoint(
  report: Reporter,
  { note, where }: NoteInput,
  {
    verifier,
    channel: wanted,
    anyEpoch = false,
    prefix = '',
  }: {
    readonly verifier: NoteVerifier;
    /**
     * The required channel, or its log of an epoch (`acme.main/e1`); undefined: any channel of the ledger that the key is
     * named for.
     */
    readonly channel?: string | undefined;
    /** Whether any epoch of `channel` is accepted: for a proof whose checkpoint states the epoch. */
    readonly anyEpoch?: boolean;
    /** Prefix of the step names, if one report checks two checkpoints. */
    readonly prefix?: string;
  },
): Checkpoint | undefined {
  checkSignature(report, { note, where }, { verifier, prefix });
  const checkpoint = readCheckpoint(report, { note, where }, prefix);
  if (checkpoint === undefined) return undefined;
  const step = `${prefix}origin`;
  const log = logOf(checkpoint, verifier);
  const isEpoch = anyEpoch && log !== undefined && parseLogName(log)?.channel === wanted;
  const channel = isEpoch ? log : wanted;
  if (channel !== undefined) {
    report.equal(step, {
      ok: `The checkpoint is of ${channel}, in the log that the key is named for.`,
      failed: 'The checkpoint is of another log or channel.',
      where,
      expected: originOf(verifier, channel),
      found: checkpoint.origin,
    });
    return checkpoint;
  }
  if (log !== undefined) report.ok(step, `The checkpoint is of ${checkpoint.origin}.`);
  else {
    const expected = `${verifier.name}/<network>.<channel>`;
    report.failed(step, { detail: 'The checkpoint is of another log.', where, expected, found: checkpoint.origin });
  }
  return checkpoint;
}

/** The log of a checkpoint (`acme.main`, `acme.main/e1`); undefined if its origin is not of the key's ledger. */
export function logOf({ origin }: Checkpoint, verifier: NoteVerifier): string | undefined {
  const isOwnKey = origin === verifier.name;
  const ledger = isOwnKey ? origin.replace(/\/[^/]+(?:\/e[1-9]\d*)?$/, '') : verifier.name;
  const log = origin.startsWith(`${ledger}/`) ? origin.slice(ledger.length + 1) : '';
  return /^[^/.]+\.[^/.]+$/.test(parseLogName(log)?.channel ?? '') ? log : undefined;
}

/** The origin of a log: a pinned key is that of a ledger, with its name, or that of the log itself. */
export function originOf({ name }: NoteVerifier, log: string): string {
  return name.endsWith(`/${log}`) ? name : `${name}/${log}`;
}

/** The pinned keys with a valid signature on a note. */
export function signersOf(note: string, { keys }: NoteVerifier): string {
  return keys
    .filter((key) => key.verify(note) !== undefined)
    .map(keyLabel)
    .join(' and ');
}

/** Name and id of a key, as in signature lines. */
function keyLabel({ name, keyHash }: { name: string; keyHash: string }): string {
  return `${name}+${keyHash}`;
}

function checkSignature(
  report: Reporter,
  { note, where }: NoteInput,
  { verifier, prefix }: { verifier: NoteVerifier; prefix: string },
): void {
  const step = `${prefix}signature`;
  if (verifier.verify(note) !== undefined) {
    report.ok(step, `The checkpoint is signed by the pinned key ${signersOf(note, verifier)}.`);
    if ('lacks' in verifier) report.ok(`${prefix}witnesses`, 'A quorum of the witnesses of the policy cosigned it.');
    return;
  }
  const pinned = verifier.keys.map(keyLabel);
  const lack = signersOf(note, verifier) === '' ? undefined : lackOfWitnesses(verifier, note);
  if (lack !== undefined) {
    report.failed(`${prefix}witnesses`, { detail: lack, where });
    return;
  }
  const expected = `a signature by ${pinned.join(' or ')}`;
  const refusal = 'refusal' in verifier ? (verifier as StatedVerifier).refusal(note) : undefined;
  if (refusal !== undefined) {
    report.failed(step, { detail: refusal, where, expected });
    return;
  }
  const claims = attempt(() => parseNote(note).signatures.map(keyLabel));
  if ('problem' in claims) {
    report.failed(step, { detail: `This is no signed note: ${claims.problem}`, where, expected });
    return;
  }
  const isClaimed = claims.value.some((claim) => pinned.includes(claim));
  const detail = isClaimed
    ? 'The signature by the pinned key does not fit the text: one of the two was changed.'
    : 'The checkpoint is not signed by the pinned key. Where the log has a new one, pin both: --key may be repeated.';
  report.failed(step, { detail, where, expected, found: claims.value.join(', ') });
}

/** The content of a note as a checkpoint, signed or not; undefined if it is not one. */
export function checkpointIn(note: string): Checkpoint | undefined {
  const parsed = attempt(() => parseCheckpoint(note));
  return 'value' in parsed ? parsed.value : undefined;
}

function readCheckpoint(report: Reporter, { note, where }: NoteInput, prefix: string): Checkpoint | undefined {
  const parsed = attempt(() => parseCheckpoint(note));
  if ('value' in parsed) return parsed.value;
  report.failed(`${prefix}checkpoint`, { detail: `This is no checkpoint: ${parsed.problem}`, where });
  return undefined;
}

/** The parsers of the tree library throw plain Errors with a sentence as message. */
function attempt<T>(parse: () => T): { value: T } | { problem: string } {
  try {
    return { value: parse() };
  } catch (error) {
    if (error instanceof Error) return { problem: error.message };
    throw error;
  }
}
