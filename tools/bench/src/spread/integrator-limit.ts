import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { median } from '../median.ts';
import { watchUsage, type Usage } from '../proc-usage.ts';
import type { ReportTable } from '../report.ts';
import { makeSender, type Sender } from '../surfaces/admin.ts';
import { prepareSite, replicaEnv, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { until } from '../until.ts';

/** Each has as many channels as one may have. */
const networks = { normal: 16, quick: 4 };
const channelsOfNetwork = 64;
const channelsOfRequest = 8;
const signedWithinMs = 120_000;

/** One extension of every channel. */
interface Signing {
  readonly ms: number;
  readonly usage: Usage;
}

/**
 * How many channels an integrator extends and signs in a second: it is halted while each gets new records, and then has
 * both cores to itself.
 */
export async function integratorLimit(
  context: BenchContext,
  stack: ReleaseStack,
): Promise<{ readonly table: ReportTable; readonly notes: readonly string[] }> {
  const site = await prepareSite(context, { name: 'integrator', stack });
  const writer = await site.start(replicaEnv(site));
  const integrator = await site.start();
  // What is halted cannot be stopped in order.
  stack.own('the halted integrator', () => void process.kill(integrator.pid, 'SIGCONT'));
  const names = Array.from({ length: channelsOfNetwork }, (_, number) => `c${number}`);
  const senders: Sender[] = [];
  while (senders.length < networks[context.options.quick ? 'quick' : 'normal'])
    senders.push(await makeSender(writer, `many-${senders.length}`, names));
  const channels = senders.length * names.length;
  context.tell(`Signing ${channels} channels`);
  const sign = async (): Promise<Signing> => {
    context.signal.throwIfAborted();
    process.kill(integrator.pid, 'SIGSTOP');
    await writeToAll(senders, { writer, names });
    return signAll(site, integrator);
  };
  const first = await sign();
  const further: Signing[] = [];
  while (further.length < context.options.rounds) further.push(await sign());
  const columns = ['channels/s', 'least', 'CPU us', 'PostgreSQL us'].map(right);
  return {
    table: {
      columns: [{ name: `integrator, each of ${wholeNumber(channels)} channels got` }, ...columns],
      rows: [
        ['the first record', ...cellsOf([first], channels)],
        ['one more record', ...cellsOf(further, channels)],
      ],
    },
    notes: [
      'The integrator is halted while channels get records, and continues once all have; a channel is extended and signed in one transaction with up to 127 others, and its checkpoint is written to a file. CPU us is for each channel. With the first record it also states the keys of the log.',
    ],
  };
}

function cellsOf(signings: readonly Signing[], channels: number): string[] {
  const speeds = signings.map(({ ms }) => (channels * 1_000) / ms);
  const cpuUs = (name: string): number =>
    median(signings.map(({ usage }) => ((usage.cpuMs[name] ?? Number.NaN) * 1_000) / channels));
  return [
    wholeNumber(median(speeds)),
    wholeNumber(Math.min(...speeds)),
    decimals(cpuUs('server'), 1),
    decimals(cpuUs('postgres'), 1),
  ];
}

/** One record to every channel. */
async function writeToAll(
  senders: readonly Sender[],
  { writer, names }: { readonly writer: Surface; readonly names: readonly string[] },
): Promise<void> {
  await Promise.all(
    senders.map(async ({ path, headers }) => {
      for (let first = 0; first < names.length; first += channelsOfRequest) {
        const body = JSON.stringify({ data: {}, targetChannels: names.slice(first, first + channelsOfRequest) });
        const response = await fetch(`http://127.0.0.1:${writer.port}${path}`, { method: 'POST', headers, body });
        const text = await response.text();
        if (response.status !== 200) throw new Error(`A write to many channels answered ${response.status}: ${text}`);
      }
    }),
  );
}

async function signAll(site: Site, integrator: Surface): Promise<Signing> {
  const text = 'SELECT count(*)::int AS behind FROM ledger.logs() WHERE size <> integrated';
  const isSigned = async (): Promise<boolean> => {
    const [row] = await site.sql.query<{ behind: number }>({ text });
    return row?.behind === 0;
  };
  const watch = watchUsage(site.watch(integrator));
  const startedAt = performance.now();
  process.kill(integrator.pid, 'SIGCONT');
  await until(isSigned, { withinMs: signedWithinMs, againMs: 20, late: 'Not every channel was signed in time.' });
  return { ms: performance.now() - startedAt, usage: watch.end() };
}
