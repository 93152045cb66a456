import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Log, Metrics } from '@sealgate/observability';
import { StartError, type Own } from '@sealgate/service-host';
import { startTimer } from '@sealgate/storage';
import { ReadingThread, type ReadingLimits } from './data/reading-thread.ts';

export interface OpenReadingOptions {
  readonly bodyMaxBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}

const MEBIBYTE = 1_048_576;
/** A body of 1 MiB takes about a tenth of a second at worst: nearly all that may wait is read in time. */
const LIMITS: ReadingLimits = {
  waiting: { maxBytes: 96 * MEBIBYTE, maxBytesOfOne: 64 * MEBIBYTE },
  waitMs: 10_000,
  readMs: 10_000,
  idleMs: 30_000,
};

/** What the thread itself takes, and what the worst value, a list of nothing but `{}`, takes for each MiB of body. */
const HEAP_BASE_MIB = 64;
const HEAP_PER_BODY_MIB = 96;
const YOUNG_MIB = 48;

/**
 * Where large bodies are read. No thread is started yet.
 * @throws StartError where its program is missing, rather than at the first large body.
 */
export function openReading({ bodyMaxBytes, log, metrics, own }: OpenReadingOptions): ReadingThread {
  const thread = new ReadingThread({
    program: readingProgram(import.meta.filename),
    limits: LIMITS,
    heap: {
      maxOldGenerationSizeMb: HEAP_BASE_MIB + Math.ceil((HEAP_PER_BODY_MIB * bodyMaxBytes) / MEBIBYTE),
      maxYoungGenerationSizeMb: YOUNG_MIB,
    },
    startTimer,
    onLost: (reason) => log.warn('reading_thread_lost', { reason }),
  });
  const waiting = { name: 'ingest_waiting_bodies', help: 'Large bodies that wait or are being read.', labels: {} };
  metrics.gauge({ ...waiting, aggregator: 'sum', collect: (gauge) => gauge.set({}, thread.depth) });
  own('reading thread', () => thread.close());
  return thread;
}

/**
 * The thread's program has one name beside the sources and beside the bundle.
 * @throws StartError where it is missing.
 */
export function readingProgram(beside: string): URL {
  const file = join(dirname(beside), `reading-worker${extname(beside)}`);
  if (!existsSync(file)) throw new StartError(`${file} is missing: it belongs to the service.`);
  return pathToFileURL(file);
}
