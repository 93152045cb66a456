import { types } from 'node:util';
import type { Surface } from '../domain/surfaces.ts';

interface Reached {
  readonly ok: boolean;
  readonly body: {
    readonly status: 'healthy' | 'degraded' | 'unhealthy';
    readonly reason?: string;
    readonly checks: Readonly<Record<string, string>>;
  };
}

/**
 * Whether the provider and the surfaces are reachable, by name.
 *
 * The console becomes ready once it has reached the provider and one surface. Later outages are reported, but it stays
 * ready: they affect all replicas, and one taken out of service could not even show the problem.
 */
export function reachability({
  provider,
  surfaces,
  redis,
  deadlineMs,
}: {
  readonly provider: { problem(): Promise<string | undefined> };
  /** Absent: none is configured. The console works while it is away. */
  readonly redis: { readonly problem: string | undefined } | undefined;
  readonly surfaces: readonly Surface[];
  readonly deadlineMs: number;
}): () => Promise<Reached> {
  let wasReady = false;
  const targets = surfaces.flatMap(({ id, api, admin }) => [
    ...(api === undefined ? [] : [{ name: `${id} api`, url: api.url }]),
    ...(admin === undefined ? [] : [{ name: `${id} admin`, url: admin.url }]),
  ]);
  return async () => {
    const late = new Promise<string>((resolve) => setTimeout(resolve, deadlineMs, 'does not answer in time').unref());
    const [providerProblem, ...problems] = await Promise.all([
      Promise.race([provider.problem(), late]),
      ...targets.map(({ url }) => problemOf(url, deadlineMs)),
    ]);
    const told = [
      ['provider', providerProblem],
      ...targets.map(({ name }, index) => [name, problems[index]] as const),
      ...(redis === undefined ? [] : [['redis', redis.problem] as const]),
    ] as const;
    const wrong = told.filter(([, problem]) => problem !== undefined);
    const canWork = providerProblem === undefined && problems.includes(undefined);
    wasReady ||= canWork;
    const status = wrong.length === 0 ? 'healthy' : wasReady ? 'degraded' : 'unhealthy';
    const reason = wrong.map(([name, problem]) => `${name}: ${problem}`).join('; ');
    const checks = Object.fromEntries(told.map(([name, problem]) => [name, problem ?? 'reached']));
    return { ok: wasReady, body: { status, ...(reason !== '' && { reason }), checks } };
  };
}

/** Why nothing answers at a URL. Any response will do: the request has no credential. */
export async function problemOf(url: string, deadlineMs: number): Promise<string | undefined> {
  try {
    const response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(deadlineMs) });
    await response.body?.cancel();
    return undefined;
  } catch (error) {
    // A network error or a timeout; fetch has no other failure here.
    const code = codeOf(error);
    return code === undefined ? 'cannot be reached' : `cannot be reached (${code})`;
  }
}

/** The code of a network error, `ECONNREFUSED` or `UNABLE_TO_VERIFY_LEAF_SIGNATURE`; a timeout has none. */
function codeOf(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !types.isNativeError(error.cause) || !('code' in error.cause)) return undefined;
  return typeof error.cause.code === 'string' ? error.cause.code : undefined;
}
