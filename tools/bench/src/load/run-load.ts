import { connect, type Socket } from 'node:net';
import { LatencyHistogram } from '../latency-histogram.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';
import { OpenLoop } from './open-loop.ts';
import { requestsOf } from './request-list.ts';
import { ResponseReader } from './response-reader.ts';
import { watchUsage, type UsageWatch } from '../proc-usage.ts';

const connectWithinMs = 5_000;
/** How long to wait for requests in flight after the measured time. */
const drainMs = 15_000;
/** The same where they are measured, too. */
const lastAnswerMs = 60_000;
const readBytes = 65_536;

/** Runs one round. Throws Error when the server cannot be reached; later failures are counted. */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const round = new Round(plan);
  await Promise.all(Array.from({ length: plan.connections }, (_, number) => round.open(number)));
  return round.run();
}

class Round {
  readonly #plan: LoadPlan;
  readonly #sockets: Socket[] = [];
  readonly #sends: ((dueAt?: number) => void)[] = [];
  readonly #openLoop: OpenLoop | undefined;
  readonly #expected: readonly number[];
  readonly #latencies = new LatencyHistogram();
  readonly #refused: Record<string, number> = {};
  #toSend: number;
  #inFlight = 0;
  #succeeded = 0;
  #unanswered = 0;
  #unlike = 0;
  #firstProblem: string | null = null;
  #measuring = true;
  #onIdle: () => void = () => undefined;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#expected = plan.expects ?? [200];
    this.#toSend = 'requests' in plan.until ? plan.until.requests : Number.POSITIVE_INFINITY;
    this.#openLoop = plan.perSecond === undefined ? undefined : new OpenLoop(plan.perSecond, this.#toSend);
  }

  open(number: number): Promise<void> {
    const { destinations, mustSay } = this.#plan;
    const { port } = destinations[number % destinations.length]!;
    const requests = requestsOf(this.#plan, number);
    const reader = new ResponseReader(mustSay);
    let sentAt = 0;
    let waiting = false;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onBytes = (length: number, buffer: Uint8Array): boolean => {
      if (!waiting) return true; // Already given up: the socket is being destroyed.
      if (!this.#ends(reader, socket, Buffer.from(buffer.buffer, buffer.byteOffset, length))) return true;
      waiting = false;
      this.#count(reader, performance.now() - sentAt);
      if (this.#openLoop === undefined) send();
      else if (this.#toSend <= 0) this.#lookIfIdle();
      else this.#openLoop.isFree(send);
      return true;
    };
    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(readBytes), callback: onBytes },
    });
    const send = (dueAt = performance.now()): void => {
      if (this.#toSend <= 0) return this.#lookIfIdle();
      this.#toSend -= 1;
      this.#inFlight += 1;
      waiting = true;
      sentAt = dueAt;
      socket.write(requests.next());
    };
    socket.setTimeout(connectWithinMs, () => socket.connecting && socket.destroy(new Error('No connection in time.')));
    socket.once('connect', resolve);
    socket.on('error', (error) => {
      this.#firstProblem ??= error.message;
      reject(error); // Matters only before it is connected.
    });
    socket.on('close', () => {
      if (!waiting) return;
      waiting = false;
      this.#inFlight -= 1;
      this.#unanswered += 1;
      this.#firstProblem ??= 'The server closed the connection.';
      this.#lookIfIdle();
    });
    this.#sockets.push(socket);
    this.#sends.push(send);
    return promise;
  }

  async run(): Promise<LoadResult> {
    const usage = watchUsage(this.#plan.watch);
    const idle = new Promise<void>((done) => (this.#onIdle = done));
    const startedAt = performance.now();
    if (this.#openLoop === undefined) for (const send of this.#sends) send();
    else this.#openLoop.start(this.#sends);
    const measured = await this.#measure(usage, startedAt, idle);
    await Promise.race([idle, after(drainMs)]);
    this.#openLoop?.stop();
    for (const socket of this.#sockets) socket.destroy();
    return {
      ...measured,
      succeeded: this.#succeeded,
      refused: this.#refused,
      unlike: this.#unlike,
      unanswered: this.#unanswered + this.#inFlight,
      firstProblem: this.#firstProblem,
    };
  }

  /** Results of the measured time are taken at its end, before the drain. */
  async #measure(
    usage: UsageWatch,
    startedAt: number,
    idle: Promise<void>,
  ): Promise<Omit<LoadResult, 'succeeded' | 'refused' | 'unlike' | 'unanswered' | 'firstProblem'>> {
    const stop = this.#stopSending();
    await Promise.race([idle, ...this.#atMostMs().map(after)]);
    clearTimeout(stop);
    const measuredMs = performance.now() - startedAt;
    const counted = usage.end();
    this.#measuring = false;
    if (this.#openLoop !== undefined) this.#unanswered += this.#toSend;
    this.#toSend = 0;
    return {
      measuredMs,
      measured: this.#succeeded,
      ...this.#latencies.result(),
      ...counted,
    };
  }

  /** Where all requests are measured: the moment from which no more are sent. */
  #stopSending(): NodeJS.Timeout | undefined {
    const { until } = this.#plan;
    if ('durationMs' in until || until.sendForMs === undefined) return undefined;
    return setTimeout(() => (this.#toSend = 0), until.sendForMs);
  }

  /** The maximum measured time; none where the number of requests alone decides. */
  #atMostMs(): number[] {
    const { until, perSecond } = this.#plan;
    if ('durationMs' in until) return [until.durationMs];
    if (until.sendForMs !== undefined) return [until.sendForMs + lastAnswerMs];
    return perSecond === undefined ? [] : [(until.requests * 1_000) / perSecond + drainMs];
  }

  #ends(reader: ResponseReader, socket: Socket, bytes: Buffer): boolean {
    try {
      return reader.take(bytes);
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  #count({ status, says }: ResponseReader, latencyMs: number): void {
    this.#inFlight -= 1;
    if (this.#measuring) this.#latencies.record(latencyMs);
    if (!says) this.#unlike += 1;
    else if (this.#expected.includes(status)) this.#succeeded += 1;
    else this.#refused[status] = (this.#refused[status] ?? 0) + 1;
  }

  #lookIfIdle(): void {
    if (this.#inFlight > 0) return;
    // While requests are still to become due, the round ends only when no connection is left.
    const goesOn =
      this.#openLoop !== undefined && this.#toSend > 0 && this.#sockets.some(({ destroyed }) => !destroyed);
    if (!goesOn) this.#onIdle();
  }
}

const after = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds).unref());
