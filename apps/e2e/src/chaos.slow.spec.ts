import { join, resolve } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { describeWithRedis } from '@sealgate/testing';
import { reportText } from './chaos/report.ts';
import { runChaos, TIMED, type ChaosOptions } from './chaos/run-chaos.ts';
import { isFull } from './harness/scale.ts';

/**
 * `npm run chaos` gives its options as JSON; a test run is the short form. `breaks` is the beginning of the promise that a
 * planted defect must break.
 */
const given = JSON.parse(process.env['SEALGATE_CHAOS'] ?? '{}') as Partial<ChaosOptions & { readonly breaks: string }>;
const { breaks, ...options } = { seed: 1, minutes: 0, ...given };
const folder = resolve(import.meta.dirname, '../../../tmp/chaos');
const storyTimeoutMs = 1_500_000 + options.minutes * 120_000;

describeWithRedis('All surfaces, while everything that they need fails', () => {
  it(
    'keep every promise to every client',
    async () => {
      const historyFile = join(folder, `${options.seed}-${Date.now()}.ndjson`);
      const report = await runChaos({ ...options, historyFile });
      const text = reportText(report);
      writeFileSync(historyFile.replace('.ndjson', '.txt'), text);
      process.stderr.write(text);
      const broken = report.verdicts.filter(
        (verdict) => verdict.broken.length > 0 && (isFull || !TIMED.includes(verdict.promise)),
      );
      if (breaks === undefined) expect(broken).toEqual([]);
      else expect(broken.filter(({ promise }) => promise.startsWith(breaks))).not.toEqual([]);
    },
    storyTimeoutMs,
  );
});
