import { SURFACE_IDS, type SurfaceId } from '../domain/surfaces.ts';
import { boundedText } from './bounded-fetch.ts';

/** What Prometheus says of a surface over the last five minutes. */
interface Rates {
  readonly requestsPerSecond?: number;
  readonly errorsPerSecond?: number;
  readonly p95Seconds?: number;
}

/** A firing alert. */
interface Alert {
  /** Null: about what several surfaces share, such as PostgreSQL. */
  readonly service: SurfaceId | null;
  readonly name: string;
  readonly severity: string;
}

export interface Measured {
  readonly rates: ReadonlyMap<SurfaceId, Rates>;
  readonly alerts: readonly Alert[];
}

/** As the overview counts them: without probes and scrapers. */
const ROUTES = 'route!~"none|/metrics|/health.*"';
/** All that is ever asked. */
const QUERIES = {
  requestsPerSecond: `sum by (service) (rate(http_requests_total{${ROUTES}}[5m]))`,
  errorsPerSecond: `sum by (service) (rate(http_requests_total{${ROUTES},status="5xx"}[5m]))`,
  p95Seconds: `histogram_quantile(0.95, sum by (service, le) (rate(http_request_duration_seconds_bucket{${ROUTES}}[5m])))`,
  alerts: 'ALERTS{alertstate="firing"}',
} as const;

const DEADLINE_MS = 2_000;
const ANSWER_MAX_BYTES = 1_048_576;
/** So that the rate of queries does not depend on the number of viewers. */
const KEEP_MS = 10_000;
const MOST_ALERTS = 50;

interface Sample {
  readonly labels: Readonly<Record<string, unknown>>;
  readonly value: number;
}

/**
 * Asks Prometheus these four queries, each within the deadline. Never rejects; undefined where it cannot be asked, or
 * answers with something else.
 */
export function prometheus({ url, now }: { readonly url: string; readonly now: () => number }) {
  let kept: { readonly measured: Promise<Measured | undefined>; readonly untilMs: number } | undefined;
  return (): Promise<Measured | undefined> => {
    if (kept !== undefined && now() < kept.untilMs) return kept.measured;
    kept = { measured: measure(url), untilMs: now() + KEEP_MS };
    return kept.measured;
  };
}

async function measure(url: string): Promise<Measured | undefined> {
  try {
    const { alerts, ...rated } = QUERIES;
    const names = Object.keys(rated) as (keyof typeof rated)[];
    const [firing, ...series] = await Promise.all(
      [alerts, ...names.map((name) => rated[name])].map((q) => ask(url, q)),
    );
    const rates = new Map(
      SURFACE_IDS.map((id) => [
        id,
        Object.fromEntries(
          names.flatMap((name, index) => {
            const value = series[index]?.find(({ labels }) => labels['service'] === id)?.value;
            return value === undefined || !Number.isFinite(value) ? [] : [[name, value]];
          }),
        ) as Rates,
      ]),
    );
    return { rates, alerts: (firing ?? []).flatMap(alertOf).slice(0, MOST_ALERTS) };
  } catch {
    return undefined; // A network error, a timeout, the size limit, or not Prometheus.
  }
}

function alertOf({ labels }: Sample): Alert[] {
  const { alertname: name, severity } = labels;
  if (typeof name !== 'string') return [];
  const shared = labels['service'] === undefined && name.startsWith('Sealgate') ? null : undefined;
  const service = SURFACE_IDS.find((id) => id === labels['service']) ?? shared;
  if (service === undefined) return [];
  return [{ service, name, severity: typeof severity === 'string' ? severity : 'none' }];
}

/** @throws Error */
async function ask(url: string, query: string): Promise<Sample[]> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`, {
    redirect: 'error',
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await boundedText(response, ANSWER_MAX_BYTES);
  if (!response.ok) throw new Error(`Prometheus answered ${response.status}.`);
  const answer = JSON.parse(text) as {
    data?: { result?: readonly { metric: Readonly<Record<string, unknown>>; value: readonly [number, string] }[] };
  };
  return (answer.data?.result ?? []).map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}
