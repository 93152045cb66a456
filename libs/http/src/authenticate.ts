import { AppError } from '@sealgate/errors';
import { inSpan } from '@sealgate/observability';
import type { Exchange } from './exchange.ts';
import { headerValues } from './request-view.ts';

/** The caller is not what he was when he was last looked up: the request is served again, as he is now. */
export class CallerChangedError extends Error {
  override readonly name = 'CallerChangedError';
}

/** Asks the guard who it is. @throws AppError UNAUTHENTICATED, or whatever else the guard says. */
export async function authenticate(exchange: Exchange): Promise<void> {
  const { guard } = exchange;
  try {
    if (isSentTwice(exchange)) throw new AppError('UNAUTHENTICATED', 'A credential was sent twice.');
    exchange.caller = await inSpan({ name: 'authenticate' }, () => guard.authenticate(exchange.view));
    exchange.isKnownCaller = true;
  } catch (error) {
    exchange.isKnownCaller = false;
    exchange.limits = undefined;
    if (!(error instanceof AppError) || error.code !== 'UNAUTHENTICATED') throw error;
    // There is nobody to name in the log, so it says where the request came from.
    exchange.note({ clientAddress: exchange.clientAddress });
    const limited = await guard.failedAuthentication?.(exchange.view, exchange);
    // The cause stays in the process: whoever guesses keys learns nothing from the answer.
    throw limited ?? new AppError('UNAUTHENTICATED', 'A valid key is required.', { cause: error });
  }
}

/** Takes the caller for who he was when he was last looked up. False, and nothing done, where he is not known. */
export function recall(exchange: Exchange): boolean {
  const { guard } = exchange;
  const caller = guard.lately === undefined || isSentTwice(exchange) ? undefined : guard.lately.find(exchange.view);
  if (caller === undefined) return false;
  exchange.caller = caller;
  exchange.isKnownCaller = true;
  exchange.isProvisional = true;
  return true;
}

/**
 * Looks a provisional caller up.
 * @returns whether he is what he was taken for.
 * @throws what `authenticate` does.
 */
export async function lookUp(exchange: Exchange): Promise<boolean> {
  const before = exchange.caller;
  exchange.isProvisional = false;
  await authenticate(exchange);
  return exchange.guard.lately?.isUnchanged(before, exchange.caller) === true;
}

function isSentTwice({ request: { rawHeaders } }: Exchange): boolean {
  return headerValues(rawHeaders, 'authorization').length > 1 || headerValues(rawHeaders, 'x-api-key').length > 1;
}
