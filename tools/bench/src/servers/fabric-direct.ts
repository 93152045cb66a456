import { LatencyHistogram } from '../latency-histogram.ts';
import { serveLoad } from '../load/generator.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { watchUsage } from '../proc-usage.ts';
import { openContract } from './fabric-contract.ts';

/**
 * The yardstick of the ledger peer: Fabric's own client without HTTP, each transaction waiting for its commit status.
 * `fabric-direct.ts CONNECTION-FILE CHANNEL`; the body of a plan is the argument of the transaction, and a connection is
 * a transaction in flight.
 */
const [connectionFile = '', fabricChannel = ''] = process.argv.slice(2);
const { contract } = openContract(connectionFile, fabricChannel);

async function write(text: string): Promise<void> {
  const submitted = await contract.submitAsync('createMany', { arguments: [text] });
  const { successful, code } = await submitted.getStatus();
  if (!successful) throw new Error(`The transaction ended with code ${code}.`);
}

serveLoad(async ({ body = '', keyPrefix, connections, until, watch }: LoadPlan): Promise<LoadResult> => {
  const [requests, sendForMs = Number.POSITIVE_INFINITY] =
    'requests' in until ? [until.requests, until.sendForMs] : [Number.POSITIVE_INFINITY, until.durationMs];
  const latencies = new LatencyHistogram();
  let [begun, unanswered] = [0, 0];
  let firstProblem: string | null = null;
  const usage = watchUsage(watch);
  const startedAt = performance.now();
  const lane = async (): Promise<void> => {
    while (begun < requests && performance.now() - startedAt < sendForMs) {
      begun += 1;
      const sentAt = performance.now();
      try {
        await write(body.replaceAll('{key}', `${keyPrefix}-${begun}`));
        latencies.record(performance.now() - sentAt);
      } catch (error) {
        unanswered += 1;
        firstProblem ??= error instanceof Error ? error.message : String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const { count } = latencies;
  return {
    measuredMs: performance.now() - startedAt,
    measured: count,
    succeeded: count,
    unanswered,
    firstProblem,
    ...latencies.result(),
    refused: {},
    unlike: 0,
    ...usage.end(),
  };
});
