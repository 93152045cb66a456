import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Log, Metrics } from '@sealgate/observability';
import { StartError, type Own } from '@sealgate/service-host';
import { startTimer } from '@sealgate/storage';
import { ReadingThread, type ReadingLimits } from './data/reading-thread.ts';

const MEBIBYTE = 1_048_576;
/** A body of 1 MiB takes at most about 100 ms to read, so nearly all of a full queue is read within `waitMs`. */
const LIMITS: ReadingLimits = {
  waiting: { maxBytes: 96 * MEBIBYTE, maxBytesOfOne: 64 * MEBIBYTE },
  waitMs: 10_000,
  readMs: 10_000,
  idleMs: 30_000,
};

/** Heap of the thread itself, and heap per MiB of body for the worst case, a list of nothing but `{}`. */
const HEAP_BASE_MIB = 64;
const HEAP_PER_BODY_MIB = 96;
const YOUNG_MIB = 48;

/**
 * Opens the reader of large bodies. The thread is started by the first large body.
 * @throws StartError at startup where the thread's program is missing.
 */
export function openReading({
  bodyMaxBytes,
  log,
  metrics,
  own,
}: {
  readonly bodyMaxBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}): ReadingThread {
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
  metrics.observedGauge({
    name: 'ingest_waiting_bodies',
    help: 'Large bodies that are queued or being read.',
    read: () => thread.depth,
  });
  own('reading thread', () => thread.close());
  return thread;
}

/**
 * The thread's program has the same name in the source folder and in the bundle.
 * @throws StartError where it is missing.
 */
export function readingProgram(beside: string): URL {
  const file = join(dirname(beside), `reading-worker${extname(beside)}`);
  if (!existsSync(file)) throw new StartError(`${file} is missing: it belongs to the service.`);
  return pathToFileURL(file);
}
