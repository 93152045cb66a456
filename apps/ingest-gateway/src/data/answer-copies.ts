import type { AnswerCopies, AnswerCopy } from '../domain/answer-write.ts';

/** The commands of Redis that copies need; each settles within the client's own timeout. */
export interface CopyCommands {
  mget(keys: string[]): Promise<(string | null)[]>;
  pipeline(commands: (string | number)[][]): { exec(): Promise<unknown> };
}

export interface AnswerCopiesOptions {
  readonly redis: CopyCommands;
  readonly isReady: () => boolean;
}

const TTL_SECONDS = 86_400;
/** A larger answer costs more to copy than the ledger takes to give it again. */
const MOST_CHARACTERS = 4096;
const PREFIX = 'ingest:answer:';

/**
 * Copies of answers in Redis. A copy that is found is right, for an answer never changes; one that is not found says
 * nothing. Look-ups of one turn of the event loop are one command, and copies of one turn are sent together.
 */
export function answerCopies({ redis, isReady }: AnswerCopiesOptions): AnswerCopies {
  let asked: { key: string; resolve: (copy: AnswerCopy | undefined) => void }[] = [];
  let kept: (string | number)[][] = [];

  const askAll = (): void => {
    const batch = asked;
    asked = [];
    redis.mget(batch.map(({ key }) => key)).then(
      (values) => batch.forEach(({ resolve }, position) => resolve(parse(values[position] ?? null))),
      () => batch.forEach(({ resolve }) => resolve(undefined)),
    );
  };
  const keepAll = (): void => {
    const batch = kept;
    kept = [];
    redis
      .pipeline(batch)
      .exec()
      .catch(() => undefined);
  };
  return {
    find(claim) {
      if (!isReady()) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        if (asked.length === 0) setImmediate(askAll);
        asked.push({ key: keyOf(claim), resolve });
      });
    },
    keep(claim, { fingerprint, body }) {
      if (!isReady() || body.length > MOST_CHARACTERS) return;
      if (kept.length === 0) setImmediate(keepAll);
      kept.push(['set', keyOf(claim), `${fingerprint}\n${body}`, 'EX', TTL_SECONDS]);
    },
  };
}

/** Where there is no Redis: nothing is known here. */
export const noCopies: AnswerCopies = { find: () => Promise.resolve(undefined), keep: () => undefined };

const keyOf = (claim: Buffer): string => PREFIX + claim.toString('base64url');

function parse(value: string | null): AnswerCopy | undefined {
  if (value === null) return undefined;
  const end = value.indexOf('\n');
  return { fingerprint: value.slice(0, end), body: value.slice(end + 1) };
}
