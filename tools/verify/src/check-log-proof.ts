import { parseLogName } from '@sealgate/envelope';
import {
  type Checkpoint,
  checkPolicy,
  leafHash,
  type LogPolicy,
  type LogProof,
  type NoteVerifier,
  parseLogProof,
  parsePolicy,
  verifyInclusion,
} from '@sealgate/merkle';
import { entryCount, type Report, type Reporter, startReport } from './report.ts';

interface LogProofInput {
  /** A C2SP tlog-proof file. */
  readonly text: string;
  readonly where: string;
  /** The preimage of the leaf; by default the extra data in the file. */
  readonly entry?: Uint8Array | undefined;
  /** Undefined: no witness is required. */
  readonly policy?: LogPolicy | undefined;
  /** The pinned key of the log, instead of the logs in the policy. */
  readonly logs?: NoteVerifier | undefined;
}

const NO_WITNESSES = parsePolicy('quorum none\n');

/**
 * Checks a stand-alone proof: signatures, cosignatures, and that its entry is in the tree. Never throws for its
 * content.
 */
export function checkLogProof({ text, where, entry: given, policy = NO_WITNESSES, logs }: LogProofInput): Report {
  const report = startReport();
  const proof = read(report, text, where);
  if (proof === undefined) return report.finish('');
  const verdict = checkPolicy(policy, proof.checkpoint, logs);
  if (verdict.problem !== undefined) {
    report.failed('checkpoint', { detail: verdict.problem, where });
    return report.finish('');
  }
  const { checkpoint, cosignedAt } = verdict;
  report.ok('checkpoint', `The checkpoint is signed by a trusted key of ${checkpoint.origin}.`);
  for (const [{ name }, seconds] of cosignedAt) {
    report.ok('witness', `${name} saw the log grow to ${entryCount(checkpoint.size)} by ${timeOf(seconds)}.`);
  }
  if (cosignedAt.size === 0)
    report.note(
      'No witness cosigned it, as far as the policy names them: the log may have shown others another history.',
    );
  const entry = given ?? proof.extra;
  if (entry === undefined) {
    report.failed('entry', {
      detail: 'The file does not hold what its leaf is hashed over: give it with --entry.',
      where,
    });
    return report.finish('');
  }
  const { size, root } = checkpoint;
  const isIncluded = verifyInclusion({ ...proof, leafHash: leafHash(entry), size, root });
  if (isIncluded) report.ok('inclusion', `The entry is number ${proof.index} of ${entryCount(size)}, counted from 0.`);
  else report.failed('inclusion', { detail: 'The path does not lead from the entry to the signed root.', where });
  const told = isIncluded ? tellRecord(report, { entry, where, checkpoint }) : '';
  return report.finish(told);
}

function read(report: Reporter, text: string, where: string): LogProof | undefined {
  try {
    return parseLogProof(text);
  } catch (error) {
    report.failed('proof', { detail: error instanceof Error ? error.message : String(error), where });
    return undefined;
  }
}

const timeOf = (seconds: number): string => {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? `second ${seconds} of POSIX` : time.toISOString();
};

/** Describes the entry if it is one of our records; a record of another channel does not belong to this log. */
function tellRecord(
  report: Reporter,
  { entry, where, checkpoint }: { readonly entry: Uint8Array; readonly where: string; readonly checkpoint: Checkpoint },
): string {
  const record = recordIn(entry);
  if (record === undefined) {
    report.note('The entry is no record of a Sealgate ledger; only its bytes are proved.');
    return `The entry is in ${checkpoint.origin}.`;
  }
  const { channel, id, type, at } = record;
  const log = checkpoint.origin.split('/').slice(/\/e[1-9]\d*$/.test(checkpoint.origin) ? -2 : -1);
  report.equal('channel', {
    ok: `The record is of ${channel}, whose log this is.`,
    failed: 'The record says that it is of another channel than the log.',
    where,
    expected: parseLogName(log.join('/'))?.channel ?? null,
    found: channel,
  });
  report.note('Its content is not in the file: "sealgate-verify receipt" checks a receipt, which holds its salt.');
  return `Record ${id} of type ${type} is in ${checkpoint.origin}, written at ${at}.`;
}

function recordIn(entry: Uint8Array): { channel: string; id: string; type: string; at: string } | undefined {
  try {
    const { v, channel, id, type, at } = JSON.parse(new TextDecoder().decode(entry)) as Readonly<
      Record<string, unknown>
    >;
    const texts = [channel, id, type, at];
    if (v !== 1 || !texts.every((text) => typeof text === 'string')) return undefined;
    const [ofChannel, ofId, ofType, ofAt] = texts as [string, string, string, string];
    return { channel: ofChannel, id: ofId, type: ofType, at: ofAt };
  } catch {
    // JSON.parse and access to members of null can only fail if the entry is another application's.
    return undefined;
  }
}
