import { setTimeout as delay } from 'node:timers/promises';
import type { handleUnaryCall, ServerUnaryCall } from '@grpc/grpc-js';
import type { CallKind, CallStatus, Faults, FaultyCall } from './faults.ts';
import { Code, RpcError, serviceError } from './rpc-error.ts';

/** The subject of a call, known before its execution. */
export type CallSubject = Omit<FaultyCall, 'kind' | 'peer'>;

interface UnaryMethod<Request, Answer> {
  readonly kind: CallKind;
  /** @throws RpcError if the request cannot be parsed. */
  readonly subject: (request: Request) => CallSubject;
  readonly perform: (request: Request, signal: AbortSignal) => Promise<Answer>;
  /** The peer's status if the client's deadline passes first. */
  readonly onDeadline: CallStatus;
}

/** The peer answers this long before the client's deadline, so that the client sees the peer's status. */
const BEFORE_DEADLINE_MS = 40;

/** Executes calls: limits concurrency, applies faults, enforces deadlines. */
export class CallRunner {
  readonly #faults: Faults;
  readonly #limit: number;
  readonly peer: string;
  #running = 0;

  constructor(faults: Faults, limit: number, peer: string) {
    this.#faults = faults;
    this.#limit = limit;
    this.peer = peer;
  }

  /** A handler for the gRPC server. */
  unary<Request, Answer>(method: UnaryMethod<Request, Answer>): handleUnaryCall<Request, Answer> {
    return (call, answer) => {
      this.#counted(() => this.#serve(method, call)).then(
        (result) => (result === DROPPED ? undefined : answer(null, result)),
        (error: unknown) => answer(serviceError(statusOf(error))),
      );
    };
  }

  /** Runs a call within the concurrency limit. */
  async #counted<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#limit) {
      const message = `too many requests for /gateway.Gateway, exceeding concurrency limit (${this.#limit})`;
      throw new RpcError({ code: Code.UNKNOWN, message });
    }
    this.#running += 1;
    try {
      return await run();
    } finally {
      this.#running -= 1;
    }
  }

  async #serve<Request, Answer>(
    { kind, subject, perform, onDeadline }: UnaryMethod<Request, Answer>,
    call: ServerUnaryCall<Request, Answer>,
  ): Promise<Answer | typeof DROPPED> {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort());
    const work = async () => {
      const fault = this.#faults.strike({ kind, peer: this.peer, ...subject(call.request) });
      if (fault?.delayMs !== undefined) await delay(fault.delayMs, undefined, { ref: false });
      if (fault?.drop === 'before') return DROPPED;
      if (fault?.status !== undefined) throw new RpcError(fault.status);
      const answer = await perform(call.request, abort.signal);
      if (fault?.statusAfter !== undefined) throw new RpcError(fault.statusAfter);
      return fault?.drop === 'after' ? DROPPED : answer;
    };
    const deadline = deadlineOf(call);
    if (deadline === undefined) return work();
    const timer = new AbortController();
    const late = delay(Math.max(0, deadline - Date.now() - BEFORE_DEADLINE_MS), undefined, {
      ref: false,
      signal: timer.signal,
    }).then(() => {
      throw new RpcError(onDeadline);
    });
    late.catch(() => undefined); // Cancelled, or reported by the race.
    try {
      return await Promise.race([work(), late]);
    } finally {
      timer.abort();
    }
  }
}

/** Marks an answer that is never sent. */
const DROPPED = Symbol('dropped');

function deadlineOf(call: ServerUnaryCall<unknown, unknown>): number | undefined {
  const deadline = call.getDeadline();
  const at = typeof deadline === 'number' ? deadline : deadline.getTime();
  return Number.isFinite(at) ? at : undefined;
}

function statusOf(error: unknown): CallStatus {
  if (error instanceof RpcError) return error.status;
  return { code: Code.UNKNOWN, message: error instanceof Error ? error.message : String(error) };
}
