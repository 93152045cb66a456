import type { Surface, SurfaceId } from '../domain/surfaces.ts';
import { boundedText } from './bounded-fetch.ts';

/** The state of one surface, from its ops listener. */
interface SurfaceState {
  readonly id: SurfaceId;
  /** Undefined if the surface was unreachable. */
  readonly ready: boolean | undefined;
  /** Further members of its readiness response, unchanged. */
  readonly checks: Readonly<Record<string, unknown>>;
  /** Over the time since the last overview; absent on the first one. */
  readonly requestsPerSecond?: number;
  readonly errorsPerSecond?: number;
  /** Backlogs and halted work, by metric name. */
  readonly gauges: Readonly<Record<string, number>>;
}

/** Gauges of the surfaces to show; each is summed over its labels. */
const GAUGES: ReadonlySet<string> = new Set([
  'gate_waiting_decisions',
  'ingest_waiting_bodies',
  'ledger_halted_channels',
  'ledger_queue_length',
  'ledger_unsettled_transactions',
  'ledger_waiting_units',
  'peer_jobs_running',
  'risk_anchors_oldest_seconds',
  'risk_anchors_waiting',
]);

const DEADLINE_MS = 2_000;
/** How long a result is cached, so that the rate of calls to a surface does not depend on the number of viewers. */
const KEEP_MS = 2_000;
const ANSWER_MAX_BYTES = 4_194_304;
/** Minimum interval for rates; shorter ones fluctuate. */
const RATE_MIN_MS = 5_000;
/** Maximum interval for rates; longer ones are outdated. */
const RATE_MAX_MS = 600_000;

interface Sample {
  readonly atMs: number;
  readonly requests: number;
  readonly errors: number;
}

/** Queries all configured ops listeners concurrently, each within the deadline. Never rejects. */
export function surfaceStates({
  surfaces,
  now,
}: {
  readonly surfaces: readonly Surface[];
  readonly now: () => number;
}) {
  const samples = new Map<SurfaceId, Sample>();
  let kept: { readonly states: Promise<SurfaceState[]>; readonly untilMs: number } | undefined;

  const stateOf = async ({ id, opsUrl }: Surface): Promise<SurfaceState> => {
    const ask = (path: string) => asked(`${opsUrl}${path}`);
    const [health, metrics] = await Promise.all([ask('/health/ready'), ask('/metrics')]);
    const checks = health === undefined ? {} : objectOf(health.text);
    const ready = health === undefined ? undefined : health.status === 200;
    if (metrics?.status !== 200) return { id, ready, checks, gauges: {} };
    const { requests, errors, gauges } = readMetrics(metrics.text);
    return { id, ready, checks, gauges, ...ratesOf(id, { atMs: now(), requests, errors }) };
  };

  const ratesOf = (id: SurfaceId, sample: Sample) => {
    const before = samples.get(id);
    const elapsedMs = before === undefined ? 0 : sample.atMs - before.atMs;
    const isAnew = before === undefined || elapsedMs > RATE_MAX_MS || sample.requests < before.requests;
    if (isAnew || elapsedMs >= RATE_MIN_MS) samples.set(id, sample);
    if (isAnew || elapsedMs < RATE_MIN_MS) return isAnew ? (rates.delete(id), {}) : (rates.get(id) ?? {});
    const perSecond = (count: number) => Math.max(0, Math.round((1_000_000 * count) / elapsedMs) / 1000);
    const made = {
      requestsPerSecond: perSecond(sample.requests - before.requests),
      errorsPerSecond: perSecond(sample.errors - before.errors),
    };
    rates.set(id, made);
    return made;
  };
  const rates = new Map<SurfaceId, { requestsPerSecond: number; errorsPerSecond: number }>();

  return (): Promise<SurfaceState[]> => {
    if (kept !== undefined && now() < kept.untilMs) return kept.states;
    const states = Promise.all(surfaces.filter(({ opsUrl }) => opsUrl !== undefined).map(stateOf));
    kept = { states, untilMs: now() + KEEP_MS };
    return states;
  };
}

/** Undefined if no response came in time, or it was too long. */
async function asked(url: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(DEADLINE_MS) });
    return { status: response.status, text: await boundedText(response, ANSWER_MAX_BYTES) };
  } catch {
    return undefined; // Network error, timeout or size limit: the state is unknown.
  }
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {}; // Something else responds at this address.
  }
}

const LINE = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i;
/** Requests of probes, scrapers and this overview are not counted. */
const UNCOUNTED = /route="(?:none|\/metrics|\/health[^"]*)"/;

/** Parses the subset of the Prometheus text format that the surfaces use. */
function readMetrics(text: string): { requests: number; errors: number; gauges: Record<string, number> } {
  const gauges: Record<string, number> = {};
  let [requests, errors] = [0, 0];
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', number = ''] = LINE.exec(line) ?? [];
    const value = Number(number);
    if (!Number.isFinite(value)) continue;
    if (GAUGES.has(name)) gauges[name] = (gauges[name] ?? 0) + value;
    if (name !== 'http_requests_total' || UNCOUNTED.test(labels)) continue;
    requests += value;
    if (labels.includes('status="5xx"')) errors += value;
  }
  return { requests, errors, gauges };
}
