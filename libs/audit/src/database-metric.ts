import type { Metrics } from '@sealgate/observability';
import type { DatabaseCheck } from '@sealgate/storage';

const CHECK_EVERY_MS = 5000;

/**
 * Whether the database is away, for the one alert that tells it. Readiness is checked only where somebody asks for it, so
 * a scrape begins a check as well; it shows the result of the one before.
 */
export function databaseMetric(
  metrics: Pick<Metrics, 'gauge'>,
  database: Pick<DatabaseCheck, 'problem' | 'isAway'>,
  now: () => number,
): void {
  let checkedAtMs = -Infinity;
  metrics.gauge({
    name: 'database_away',
    help: '1 while the database cannot be reached, lets the role of this process not in, or takes no writes.',
    labels: {},
    collect(gauge) {
      gauge.set({}, database.isAway ? 1 : 0);
      if (now() - checkedAtMs < CHECK_EVERY_MS) return;
      checkedAtMs = now();
      void database.problem();
    },
  });
}
