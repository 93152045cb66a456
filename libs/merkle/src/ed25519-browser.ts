// The same names as ed25519-node.ts. WebCrypto answers later, while whoever checks a proof needs its answer at once; so a
// check is run, the signatures that it asked about are judged, and it is run again with the verdicts at hand.

export interface Ed25519Key {
  verify(data: Uint8Array, signature: Uint8Array): boolean;
}

interface Question {
  readonly point: Uint8Array;
  readonly data: Uint8Array;
  readonly signature: Uint8Array;
}

interface Run {
  readonly verdicts: Map<string, boolean>;
  readonly open: Map<string, Question>;
}

/** A check asks in rounds only where a verdict decides what is asked next; none of ours does so more than twice. */
const MOST_ROUNDS = 20;

let run: Run | undefined;

/** @throws Error when `verify` is called outside `settleSignatures`. */
export function ed25519Key(point: Uint8Array): Ed25519Key {
  return {
    verify(data, signature) {
      if (run === undefined) throw new Error('In a browser signatures are checked within settleSignatures.');
      const name = JSON.stringify([text(point), text(signature), text(data)]);
      const verdict = run.verdicts.get(name);
      if (verdict === undefined) run.open.set(name, { point, data: data.slice(), signature });
      // Not known yet counts as not signed: a wrong turn that the next run corrects, and never a signature too many.
      return verdict ?? false;
    },
  };
}

/**
 * Runs a check, which must be synchronous and without effects, until every signature it asks about is judged. Gives the
 * result of the last run. Throws what the check throws then, and an Error where the browser knows no Ed25519.
 */
export async function settleSignatures<T>(check: () => T): Promise<T> {
  const verdicts = new Map<string, boolean>();
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const open = new Map<string, Question>();
    const attempt = runOnce(check, { verdicts, open });
    if (open.size === 0) return attempt();
    for (const [name, question] of open) verdicts.set(name, await isSigned(question));
  }
  throw new Error('The check asked about ever more signatures.');
}

/** One run to its end; its result, or what it threw, is handed out when it is asked for. */
function runOnce<T>(check: () => T, current: Run): () => T {
  const before = run;
  run = current;
  try {
    const result = check();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  } finally {
    run = before;
  }
}

async function isSigned({ point, data, signature }: Question): Promise<boolean> {
  const key = await crypto.subtle
    .importKey('raw', point.slice(), { name: 'Ed25519' }, false, ['verify'])
    .catch((cause: unknown) => {
      if (cause instanceof DOMException && cause.name === 'NotSupportedError') {
        throw new Error('This browser cannot check Ed25519 signatures: use a newer one, or sealgate-verify.', {
          cause,
        });
      }
      return undefined; // No point of the curve: nothing is signed by it.
    });
  if (key === undefined) return false;
  return crypto.subtle.verify({ name: 'Ed25519' }, key, signature.slice(), data.slice());
}

/** One character for each byte: to find a question by. */
function text(bytes: Uint8Array): string {
  let characters = '';
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return characters;
}
