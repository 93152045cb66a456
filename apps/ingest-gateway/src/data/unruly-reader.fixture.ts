import { parentPort } from 'node:worker_threads';
import type { ReadingRequest } from './reading-thread.ts';

/** A reading thread that acts as the body says: exits, throws, hangs, fills its heap, or answers with the body. */
parentPort?.on('message', ({ bytes }: ReadingRequest) => {
  const body = Buffer.from(bytes).toString('utf8');
  const kept: number[][] = [];
  if (body === 'exit') process.exit(7);
  if (body === 'throw') throw new Error('A bug of the reader.');
  while (body === 'fill') kept.push(new Array<number>(100_000).fill(kept.length));
  if (body === 'hang') return;
  if (body === 'busy') for (;;);
  const record = { id: body, type: 't', owner: null, data: '{}', extra: null, targetChannels: undefined };
  parentPort?.postMessage({ submission: { kind: 'write', records: [record], strippedFields: 0 } });
});
