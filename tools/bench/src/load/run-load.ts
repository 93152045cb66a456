import { LatencyHistogram } from '../latency-histogram.ts';
import { Connection } from './connection.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';
import { OpenLoop } from './open-loop.ts';
import { requestsOf } from './request-list.ts';
import { ResponseReader } from './response-reader.ts';
import { watchUsage, type UsageWatch } from '../proc-usage.ts';

/** How long to wait for requests in flight after the measured time. */
const drainMs = 15_000;
/** The same where they are measured, too. */
const lastAnswerMs = 60_000;
/** Far fewer than a listener queues: what does not fit is tried again a second later. */
const opensAtOnce = 100;

/** Runs one round. Throws Error when the server cannot be reached; later failures are counted. */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const round = new Round(plan);
  for (let first = 0; first < plan.connections; first += opensAtOnce) {
    const some = Math.min(opensAtOnce, plan.connections - first);
    await Promise.all(Array.from({ length: some }, (_, place) => round.open(first + place)));
  }
  return round.run();
}

class Round {
  readonly #plan: LoadPlan;
  readonly #connections: Connection[] = [];
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
    const destination = destinations[number % destinations.length]!;
    const connection = new Connection({
      destination,
      requests: requestsOf(this.#plan, number),
      reader: new ResponseReader(mustSay, { seesClose: destination.alsoAt !== undefined }),
      answered: (reader, latencyMs) => this.#count(reader, latencyMs),
      free: () => {
        if (this.#openLoop === undefined) send();
        else if (this.#toSend <= 0) this.#lookIfIdle();
        else this.#openLoop.isFree(send);
      },
      lost: (problem) => {
        this.#inFlight -= 1;
        this.#unanswered += 1;
        this.#firstProblem ??= problem;
        this.#lookIfIdle();
      },
    });
    const send = (dueAt = performance.now()): void => {
      if (this.#toSend <= 0) return this.#lookIfIdle();
      this.#toSend -= 1;
      this.#inFlight += 1;
      connection.send(dueAt);
    };
    this.#connections.push(connection);
    this.#sends.push(send);
    return connection.open();
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
    for (const connection of this.#connections) connection.close();
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

  #count({ status, says }: ResponseReader, latencyMs: number): void {
    this.#inFlight -= 1;
    if (this.#measuring) this.#latencies.record(latencyMs);
    if (!this.#expected.includes(status)) this.#refused[status] = (this.#refused[status] ?? 0) + 1;
    else if (says) this.#succeeded += 1;
    else this.#unlike += 1;
  }

  #lookIfIdle(): void {
    if (this.#inFlight > 0) return;
    // While requests are still to become due, the round ends only when no connection is left.
    const goesOn =
      this.#openLoop !== undefined && this.#toSend > 0 && this.#connections.some(({ destroyed }) => !destroyed);
    if (!goesOn) this.#onIdle();
  }
}

const after = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds).unref());
