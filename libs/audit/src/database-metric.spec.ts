import { expect, it } from '@jest/globals';
import { Metrics } from '@sealgate/observability';
import { testClock } from '@sealgate/testing';
import { databaseMetric } from './database-metric.ts';

it('shows whether the database is away, and has a scrape check it where nobody else does', async () => {
  const metrics = new Metrics('desk', { processMetrics: false });
  const clock = testClock();
  let checks = 0;
  const database = {
    isAway: false,
    problem: () => {
      checks += 1;
      database.isAway = checks > 1;
      return Promise.resolve(undefined);
    },
  };
  databaseMetric(metrics, database, clock.now);
  const scrape = async (): Promise<string | undefined> => /^database_away\{.*\} (\d)$/m.exec(await metrics.text())?.[1];
  expect([await scrape(), await scrape(), checks]).toEqual(['0', '0', 1]);
  clock.advance(5000);
  expect([await scrape(), await scrape(), checks]).toEqual(['0', '1', 2]);
});
