import type { Log, RequestLog } from '@sealgate/observability';
import type { AnswerWriter } from './answer.ts';
import type { Compression } from './compression.ts';
import type { Guard } from './guard.ts';

/** What all requests of one app share. */
export interface AppServices {
  /** Its callers are opaque here: what it returned is only ever handed back to it. */
  readonly guard: Guard<unknown> | undefined;
  readonly log: Log;
  readonly requests: RequestLog;
  readonly writer: AnswerWriter;
  /** Undefined where answers are never compressed. */
  readonly compression: Compression | undefined;
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** Whether this address is a proxy we believe; absent where no proxy may say how the client came. */
  readonly refusesPlainHttpFrom: ((address: string) => boolean) | undefined;
  /** Routes and codes that have been warned about: each once, so it is as bounded as they are. */
  readonly undeclaredCodes: Set<string>;
  /** Set once the process has begun to stop: every answer then tells its connection to close. */
  draining: boolean;
}
