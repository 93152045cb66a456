import { createServer } from 'node:http';
import { LOG_PROBLEMS, type LogProblemKind } from './monitor-log.ts';
import { UnreadableError } from './shape.ts';

/** Metrics of one log. */
export interface WatchedLog {
  readonly log: string;
  size: number;
  checked: number;
  checkedAtSeconds: number;
  problem: LogProblemKind | 'unreachable' | undefined;
}

/** The Prometheus text format, for a scraper or the textfile collector of a node exporter. */
export function metricsText(watched: readonly WatchedLog[]): string {
  const log = watched.map((one) => one.log);
  const kinds = [...Object.keys(LOG_PROBLEMS), 'unreachable'];
  return [
    gauge(
      {
        name: 'sealgate_monitor_problem',
        help: 'Whether the last round found this problem.',
        labels: { log, problem: kinds },
      },
      watched.flatMap(({ problem }) => kinds.map((kind) => (problem === kind ? 1 : 0))),
    ),
    gauge(
      { name: 'sealgate_monitor_size', help: 'Checked entries of the log.', labels: { log } },
      watched.map(({ size }) => size),
    ),
    gauge(
      {
        name: 'sealgate_monitor_checked_entries',
        help: 'Entries read since the start of this monitor.',
        labels: { log },
      },
      watched.map(({ checked }) => checked),
    ),
    gauge(
      {
        name: 'sealgate_monitor_checked_timestamp_seconds',
        help: 'Time of the last round without a problem.',
        labels: { log },
      },
      watched.map(({ checkedAtSeconds }) => checkedAtSeconds),
    ),
  ].join('');
}

/** A metric with one value for each combination of its labels, the last label varying fastest. */
function gauge(
  {
    name,
    help,
    labels,
  }: { readonly name: string; readonly help: string; readonly labels: Readonly<Record<string, readonly string[]>> },
  values: readonly number[],
): string {
  const series = Object.entries(labels).reduce<readonly string[]>(
    (before, [label, of]) =>
      before.flatMap((start) => of.map((value) => `${start}${start === '' ? '' : ','}${label}="${value}"`)),
    [''],
  );
  const lines = series.map((one, index) => `${name}{${one}} ${values[index] ?? 0}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
}

/** Resolves once it is listening, with a function that closes it. @throws UnreadableError if it cannot listen. */
export async function serveMetrics(
  { port, address }: { readonly port: number; readonly address: string },
  watched: readonly WatchedLog[],
): Promise<() => void> {
  const server = createServer((request, response) => {
    const isFound = request.method === 'GET' && request.url === '/metrics';
    response.writeHead(isFound ? 200 : 404, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(isFound ? metricsText(watched) : '');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) =>
      reject(new UnreadableError(`Metrics cannot be served on port ${port} of ${address}: ${code}.`)),
    );
    server.listen(port, address, resolve);
  });
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
