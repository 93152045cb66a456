import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { GcraStore } from './gcra-store.ts';
import { ChargedMoment } from './gcra-store.ts';
import type { LimitState } from './limit-store.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/** Answers a refused request, or passes an error on. The headers of the limit, `Retry-After` among them, are set. */
export type Refuse = (options: {
  readonly request: Request;
  readonly response: Response;
  readonly next: NextFunction;
  readonly state: LimitState;
}) => void;

export interface LimitingOptions {
  readonly store: GcraStore;
  readonly burst: number;
  /** The client a request is charged to, or `undefined` for a request that is charged to nobody. */
  readonly keyOf: (request: Request) => string | undefined;
  readonly refuse: Refuse;
}

/**
 * express-rate-limit over our store, with the headers of our draft and a refusal of our own.
 *
 * Its own headers are off: they are those of an older draft and hash the key for each request. Its checks of common
 * mistakes are off too: they concern `request.ip` and the default store, neither of which is used.
 */
export function limitingMiddleware({ store, burst, keyOf, refuse }: LimitingOptions): RequestHandler {
  const limiter = rateLimit({
    store,
    limit: burst,
    keyGenerator: (request) => keyOf(request) ?? '',
    skip: (request) => keyOf(request) === undefined,
    standardHeaders: false,
    legacyHeaders: false,
    validate: false,
    handler: (request, response, next) => {
      const state = stateOf(request);
      if (state === undefined) next(new Error('A refused request has no limit state.'));
      else refuse({ request, response, next, state: tell(response, state) });
    },
  });
  return (request, response, next) =>
    limiter(request, response, (error?: unknown) => {
      const state = error === undefined ? stateOf(request) : undefined;
      if (state !== undefined) tell(response, state);
      next(error);
    });
}

/** What the library left on the request under its default name. */
function stateOf(request: Request): LimitState | undefined {
  const info: unknown = Reflect.get(request, 'rateLimit');
  if (typeof info !== 'object' || info === null || !('resetTime' in info)) return undefined;
  return info.resetTime instanceof ChargedMoment ? info.resetTime.state : undefined;
}

function tell(response: Response, state: LimitState): LimitState {
  for (const [name, value] of Object.entries(rateLimitHeaders(state))) response.setHeader(name, String(value));
  return state;
}
