import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { AppError } from '@sealgate/errors';
import type { ReadingAnswer, ReadingRequest } from './data/reading-messages.ts';
import { readBody } from './domain/read-submission.ts';

/** The program of the reading thread, which `data/reading-thread.ts` starts: reads one body after another, and no more. */
const port = parentPort;
assert(port !== null, 'This program is a thread of main, and does nothing by itself.');

port.on('message', (request: ReadingRequest) => port.postMessage(answerOf(request)));

/** A bug is not caught: it ends this thread, whose next is as good as new. */
function answerOf({ bytes, rules }: ReadingRequest): ReadingAnswer {
  try {
    return { submission: readBody(bytes, rules) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, faults } = error;
    return { refusal: { code, detail: message, faults } };
  }
}
