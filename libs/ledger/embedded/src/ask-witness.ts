import { parseNote, parseSignatures, signatureLine, type Checkpoint, type PolicyWitness } from '@sealgate/merkle';

/** Outcome of asking a witness to cosign; the label values of a metric. */
export const WITNESS_OUTCOMES = [
  'cosigned',
  /** It has cosigned a later tree, of this or of another integrator. */
  'ahead',
  /** It has cosigned another tree of the same size, or the proof does not match the tree it cosigned. */
  'contradicted',
  /** It does not know the log. */
  'unknown_log',
  /** It knows another key for the log. */
  'unknown_key',
  /** Its answer holds no signature of its own over this checkpoint. */
  'not_cosigned',
  /** Any other answer, one that is too large, or none in time. */
  'unreachable',
] as const;
export type WitnessOutcome = (typeof WITNESS_OUTCOMES)[number];

/** `size`: the size of the tree that the witness reports as last cosigned, if any. */
export type WitnessAnswer =
  | { readonly outcome: 'cosigned'; readonly line: string; readonly size: number }
  | { readonly outcome: Exclude<WitnessOutcome, 'cosigned'>; readonly size?: number; readonly detail: string };

interface WitnessQuestion {
  readonly checkpoint: Checkpoint;
  /** Signed by the log only. */
  readonly note: string;
  /** The assumed size of the tree that the witness cosigned last. */
  readonly oldSize: number;
  /** The consistency path from a smaller tree to that of the checkpoint. */
  readonly pathFrom: (size: number) => Promise<readonly Uint8Array[]>;
  readonly signal: AbortSignal;
  /** Seconds since the epoch. */
  readonly nowSeconds: number;
}

/** Signature lines are some hundred bytes each. */
const ANSWER_MAX_BYTES = 16_384;
/** Tolerated clock skew of a witness: signatures dated further ahead are rejected. */
const AHEAD_SECONDS = 300;

/**
 * Sends a checkpoint to a witness (C2SP tlog-witness, `add-checkpoint`), and once more if the witness answers with the
 * size it has cosigned. A cosignature counts only if the pinned key of the witness signed this very checkpoint. Never
 * throws for a misbehaving witness.
 */
export async function askWitness(
  { verifier, url }: PolicyWitness,
  { checkpoint, note, oldSize, pathFrom, signal, nowSeconds }: WitnessQuestion,
): Promise<WitnessAnswer> {
  const { size } = checkpoint;
  const send = async (from: number) => {
    const path = from === 0 || from === size ? [] : await pathFrom(from);
    const proof = path.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('');
    return exchange(`${url}/add-checkpoint`, `old ${from}\n${proof}\n${note}`, signal);
  };
  let from = Math.min(oldSize, size);
  let answer = await send(from);
  if ('problem' in answer) return { outcome: 'unreachable', detail: answer.problem };
  if (answer.status === 409) {
    const known = sizeIn(answer.body);
    if (known === undefined) return { outcome: 'contradicted', detail: 'It holds another tree of this size.' };
    if (known > size) return { outcome: 'ahead', size: known, detail: `It has cosigned ${known} entries.` };
    if (known === from) return { outcome: 'contradicted', size: known, detail: 'It holds another tree of this size.' };
    from = known;
    answer = await send(from);
    if ('problem' in answer) return { outcome: 'unreachable', detail: answer.problem };
  }
  if (answer.status !== 200) return refusalOf(answer.status);
  const { text } = parseNote(note);
  for (const signature of signaturesIn(answer.body)) {
    const seconds = verifier.claims(signature) ? verifier.signedAt(text, signature) : undefined;
    if (seconds !== undefined && seconds > 0 && seconds <= nowSeconds + AHEAD_SECONDS)
      return { outcome: 'cosigned', line: signatureLine(signature), size };
  }
  return {
    outcome: 'not_cosigned',
    detail: 'Its answer holds no valid timestamped signature of its key over this checkpoint.',
  };
}

function refusalOf(status: number): WitnessAnswer {
  if (status === 404) return { outcome: 'unknown_log', detail: 'It knows no log of this origin.' };
  if (status === 403) return { outcome: 'unknown_key', detail: 'It trusts no key that signed this checkpoint.' };
  if (status === 409 || status === 422)
    return { outcome: 'contradicted', detail: 'The proof does not lead from what it has cosigned to this checkpoint.' };
  return { outcome: 'unreachable', detail: `It answered ${status}.` };
}

function signaturesIn(body: string) {
  try {
    return parseSignatures(body);
  } catch {
    // The only failure of parseSignatures: not signature lines.
    return [];
  }
}

function sizeIn(body: string): number | undefined {
  const match = /^(0|[1-9][0-9]{0,15})\n$/.exec(body);
  const size = Number(match?.[1]);
  return match !== null && Number.isSafeInteger(size) ? size : undefined;
}

type Exchanged = { readonly status: number; readonly body: string } | { readonly problem: string };

/** An answer that is too long or missing is a problem; a redirect is an answer and is not followed. */
async function exchange(url: string, body: string, signal: AbortSignal): Promise<Exchanged> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain; charset=utf-8', Accept: 'text/plain' },
      redirect: 'manual',
      body,
      signal,
    });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      // Leaving the loop closes the connection.
      if (bytes > ANSWER_MAX_BYTES) return { problem: `It answered more than ${ANSWER_MAX_BYTES} bytes.` };
      chunks.push(chunk);
    }
    return { status: response.status, body: Buffer.concat(chunks).toString('utf8') };
  } catch (error) {
    return {
      problem: error instanceof Error ? (error.cause instanceof Error ? error.cause : error).message : String(error),
    };
  }
}
