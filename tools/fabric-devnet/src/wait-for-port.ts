import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Whether somebody listens on 127.0.0.1 at that port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 2_000 });
    const end = (answer: boolean): void => {
      socket.destroy();
      done(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

/** Asks again and again until it is true; false when it is not by `timeoutMs`, or `isHopeless` says that it never will be. */
export async function waitUntil(
  isTrue: () => Promise<boolean>,
  timeoutMs: number,
  isHopeless: () => Promise<boolean> = async () => false,
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (performance.now() < end) {
    if (await isTrue()) return true;
    if (await isHopeless()) return false;
    await delay(50);
  }
  return false;
}
