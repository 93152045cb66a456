import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import { answerError, answerReply, finishRaw, prepareRaw } from './answer.ts';
import { checkShape } from './check-shape.ts';
import type { Exchange } from './exchange.ts';
import { authenticate, CallerChangedError, lookUp, recall } from './guard.ts';
import type { MountedRoute } from './mount.ts';
import { notFound, pathValuesOf } from './paths.ts';
import { isBodyThere, requireSingleHeaders, takeBody } from './read-body.ts';
import type { PrefetchBody } from './route.ts';

/**
 * Serves a request of a route, in the order of refusal that all surfaces share: authentication, limits, permission,
 * precheck, media type, size, JSON, shape, handler. Never rejects.
 */
export async function serve(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  try {
    await run(exchange, mounted);
  } catch (error) {
    await answerFailure(exchange, error);
  }
}

/** Answers requests without a route: 405 if the path exists (`allow` lists its methods), else 404. */
export async function serveUnmatched(exchange: Exchange, allow: string | undefined, error: unknown): Promise<void> {
  try {
    enter(exchange);
    await answerFailure(exchange, unmatchedError(allow, error));
  } catch (refusal) {
    await answerFailure(exchange, refusal);
  }
}

function unmatchedError(allow: string | undefined, error: unknown): unknown {
  // Malformed percent-encoding is a 404. Nothing else fails while routing.
  if (error !== undefined && !(error instanceof URIError)) return error;
  if (allow === undefined) return notFound();
  const detail = 'This path does not answer that method.';
  return new AppError('METHOD_NOT_ALLOWED', detail, { headers: { Allow: allow } });
}

async function answerFailure(exchange: Exchange, error: unknown): Promise<void> {
  try {
    await answerError(exchange, error);
  } catch (bug) {
    // The guard failed on the refusal, or the answer cannot be sent. Do not call the guard again.
    exchange.isKnownCaller = false;
    exchange.limits = undefined;
    await answerError(exchange, bug);
  }
}

function enter(exchange: Exchange): void {
  const { refusesPlainHttpFrom } = exchange.services;
  if (refusesPlainHttpFrom !== undefined) requireTls(exchange, refusesPlainHttpFrom);
  exchange.pathHeaders = exchange.mounted?.admit?.(exchange.view) ?? undefined;
}

function requireTls(exchange: Exchange, isTrustedProxy: (address: string) => boolean): void {
  // Proxies append to the header: the first value is the client's protocol.
  const protocol = exchange.header('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  if (protocol === 'http' && isTrustedProxy(exchange.socketAddress)) {
    throw new AppError('TLS_REQUIRED', 'This service answers over TLS only.');
  }
}

async function run(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  const { route } = mounted;
  enter(exchange);
  exchange.params = pathValuesOf(exchange.request.params, { withoutRest: route.restAsSent });
  const early = route.prefetch === undefined ? undefined : await readEarly(exchange, mounted);
  if (route.confirmsCaller === true && recall(exchange)) return runProvisionally(exchange, mounted);
  if (!mounted.isOpen) await authenticate(exchange, early);
  return runAs(exchange, mounted, early);
}

/** Serves with a provisional caller, and once more if the caller has changed. */
async function runProvisionally(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  try {
    return await runAs(exchange, mounted, undefined);
  } catch (error) {
    if (!(await shouldRestart(exchange, error))) throw error;
  }
  exchange.permitCalls = 0;
  exchange.chargeCalls = 0;
  await runAs(exchange, mounted, undefined);
}

/**
 * Looks up a provisional caller before a refusal is sent. Failures on our side say nothing about the caller and are
 * sent as they are.
 */
async function shouldRestart(exchange: Exchange, error: unknown): Promise<boolean> {
  const isChanged = error instanceof CallerChangedError;
  if (!exchange.isProvisional) return isChanged;
  if (!isChanged && !(error instanceof AppError && error.status < 500)) return false;
  const isUnchanged = await lookUp(exchange);
  // A fault of the body does not depend on the caller.
  return exchange.bodyReading !== 'begun' && (isChanged || !isUnchanged);
}

/** Everything after authentication. */
async function runAs(exchange: Exchange, mounted: MountedRoute, early: EarlyBody | undefined): Promise<void> {
  const { route, cost, permission } = mounted;
  if (cost !== undefined) await exchange.takeCharge(cost);
  if (permission !== undefined) exchange.requirePermission(permission);
  route.precheck?.({ caller: exchange.caller, params: exchange.params });
  requireSingleHeaders(exchange);
  if (early?.fault !== undefined) throw early.fault;
  if (route.body !== undefined) {
    const reading = early?.isRead === true ? undefined : readOnce(exchange, mounted);
    if (reading !== undefined) await reading;
    route.inspect?.(exchange.body as JsonValue);
  }
  checkShape(exchange, mounted);
  if (route.raw === true) {
    prepareRaw(exchange);
    await route.handler(exchange);
    finishRaw(exchange);
    return;
  }
  const reply = await route.handler(exchange);
  if (reply === undefined) throw new Error('The handler returned no reply.');
  if (exchange.isProvisional) await exchange.confirmCaller();
  const sending = answerReply(exchange, reply);
  if (sending !== undefined) await sending;
}

/** Reads the body, unless it was read before the request was restarted. Undefined if it was already there. */
function readOnce(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const { route } = mounted;
  if (exchange.bodyReading === 'done') return undefined;
  const maxBytes = exchange.isProvisional ? route.bodyMaxBytesOf?.(exchange.caller) : undefined;
  // A body refused for its size cannot be read later, so confirm the caller first.
  if (maxBytes !== undefined && maxBytes < (route.bodyMaxBytes ?? 0)) {
    return exchange.confirmCaller().then(() => readOnce(exchange, mounted));
  }
  exchange.bodyReading = 'begun';
  const reading = readInTurn(exchange, mounted);
  if (reading === undefined) exchange.bodyReading = 'done';
  return reading?.then(() => void (exchange.bodyReading = 'done'));
}

/** The outcome of `readEarly`. */
interface EarlyBody extends PrefetchBody {
  readonly isRead: boolean;
  readonly fault: AppError | undefined;
}

/** Larger bodies are read only after authentication. */
const EARLY_BODY_MAX_BYTES = 16_384;

/**
 * Before authentication on a route with `prefetch`: reads a small body that came with its headers from a caller who is
 * expected. Any other body stays unread. A fault of the body is returned, to be thrown when its turn comes.
 */
async function readEarly(exchange: Exchange, mounted: MountedRoute): Promise<EarlyBody> {
  const { request, services, view } = exchange;
  // Node emits a request before it has parsed the body bytes of the same read.
  await Promise.resolve();
  const isThere = isBodyThere(request) && request.readableLength <= EARLY_BODY_MAX_BYTES;
  if (!isThere || exchange.guard.isExpected?.(view) === false) {
    // Reading or discarding the body later resumes the socket.
    if (!isThere) request.socket.pause();
    return { isRead: false, value: undefined, fault: undefined, readAtMs: services.now() };
  }
  let fault: AppError | undefined;
  try {
    const reading = takeBody(exchange, mounted);
    if (reading !== undefined) await reading;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fault = error;
  }
  const value = fault === undefined ? (exchange.body as JsonValue) : undefined;
  return { isRead: true, value, fault, readAtMs: services.now() };
}

/** Reads the body in its turn. A route with `prefetch` then looks up the key again, with what the body names. */
function readInTurn(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const reading = takeBody(exchange, mounted);
  if (mounted.route.prefetch === undefined) return reading;
  return Promise.resolve(reading).then(() =>
    authenticate(exchange, { value: exchange.body as JsonValue, readAtMs: exchange.services.now() }),
  );
}
