import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs, type DoorsOrder, type ProbedCheck } from './gate-prober.ts';

/**
 * Doors that send checks one after the other, whatever happens to the gate. A process of its own, so that other work is
 * not mistaken for a slow answer. Starts with the first message, ends with the second, and reports the answers.
 */
const doors = 16;
const pauseMs = 5;
/** Far beyond the promise: a hang is reported as one. */
const answerWithinMs = 10_000;
let isOver = false;

process.on('message', (order: DoorsOrder | 'end') => {
  if (order === 'end') isOver = true;
  else void askAll(order);
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);

async function askAll(order: DoorsOrder): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: doors });
  const ask = async (number: number): Promise<void> => {
    while (!isOver) {
      const check = await checkOnce(agent, order, order.door.bodies[number % order.door.bodies.length] ?? '');
      process.send?.(check);
      await delay(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: doors }, (_, number) => ask(number)));
  agent.destroy();
  process.disconnect();
}
function checkOnce(agent: Agent, { port, door }: DoorsOrder, body: string): Promise<ProbedCheck> {
  const startedAt = monotonicMs();
  const headers = { ...door.headers, 'Content-Length': String(Buffer.byteLength(body)) };
  return new Promise((resolve) => {
    const end = (status: number, text: string): void =>
      resolve({ startedAt, endedAt: monotonicMs(), status, said: saidBy(status, text) });
    const asked = request(
      { ...{ host: '127.0.0.1', port, agent, method: 'POST', path: door.path, headers }, timeout: answerWithinMs },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => end(answer.statusCode ?? 0, text));
        answer.on('error', () => end(0, ''));
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('No answer.')));
    asked.on('error', () => end(0, ''));
    asked.end(body);
  });
}

/** Only a 200 with both members of an allow lets anybody in; only one with both members of a deny is a denial. */
function saidBy(status: number, text: string): ProbedCheck['said'] {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text);
  } catch {
    return 'unclear';
  }
  if (status === 200 && body['decision'] === 'allow' && body['allow'] === true) return 'allow';
  return body['decision'] === 'deny' && body['allow'] === false ? 'deny' : 'unclear';
}
