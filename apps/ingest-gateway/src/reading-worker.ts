import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { AppError } from '@sealgate/errors';
import type { ReadingAnswer, ReadingRequest } from './data/reading-thread.ts';
import { readBody } from './domain/read-body.ts';

/** The program of the reading thread, started by `data/reading-thread.ts`: reads one body per message. */
const port = parentPort;
assert(port !== null, 'This program runs only as a worker thread of main.');

port.on('message', (request: ReadingRequest) => port.postMessage(answerOf(request)));

/** Only AppErrors are caught. A bug ends this thread; the next body starts a new one. */
function answerOf({ bytes, rules }: ReadingRequest): ReadingAnswer {
  try {
    return { submission: readBody(bytes, rules) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, faults } = error;
    return { refusal: { code, detail: message, faults } };
  }
}
