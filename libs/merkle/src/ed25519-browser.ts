// Same exports as ed25519-node.ts. WebCrypto is asynchronous and proof checks are synchronous: a check runs, the
// signatures it needs are verified, and it runs again with the results.

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

/**
 * A check needs another round only when a result decides which signature is verified next; existing checks need at most
 * two.
 */
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
      // A signature still being verified counts as invalid; the next run uses the result.
      return verdict ?? false;
    },
  };
}

/**
 * Runs a synchronous check without side effects until every signature it needs is verified. Returns or throws the
 * outcome of the last run; throws an Error when the browser lacks Ed25519.
 */
export async function settleSignatures<T>(check: () => T): Promise<T> {
  const verdicts = new Map<string, boolean>();
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const open = new Map<string, Question>();
    const attempt = runOnce(check, { verdicts, open });
    if (open.size === 0) return attempt();
    for (const [name, question] of open) verdicts.set(name, await isSigned(question));
  }
  throw new Error('The check keeps requesting more and more signatures.');
}

/** Runs the check once. The returned function gives its result or rethrows its error. */
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

/** Bytes as Latin-1: a cache key. */
function text(bytes: Uint8Array): string {
  let characters = '';
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return characters;
}
