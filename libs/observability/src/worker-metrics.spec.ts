import { describe, expect, it } from '@jest/globals';
import { Metrics, WorkerMetrics } from './metrics.ts';

/** The metrics of one worker, with one metric of each kind. */
function worker() {
  const metrics = new Metrics('gate', { processMetrics: false });
  const requests = metrics.counter({ name: 'requests_total', help: 'Requests.', labels: { kind: ['a', 'b'] } });
  const seconds = metrics.histogram({ name: 'wait_seconds', help: 'Waiting.', buckets: [1, 2] }).child({});
  const depth = metrics.gauge({ name: 'depth', help: 'Waiting here.', aggregator: 'sum' }).child({});
  const halted = metrics.gauge({ name: 'halted', help: 'Halted.', aggregator: 'max' }).child({});
  const shared = metrics.gauge({ name: 'shared', help: 'Shared.', aggregator: 'min' }).child({});
  return { metrics, requests, seconds, depth, halted, shared };
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

async function twoWorkers() {
  const [one, two] = [worker(), worker()];
  one.requests.inc({ kind: 'a' }, 3);
  two.requests.inc({ kind: 'a' }, 4);
  two.requests.inc({ kind: 'b' }, 5);
  one.seconds.observe(0.5);
  two.seconds.observe(1.5);
  two.seconds.observe(9);
  one.depth.set(2);
  two.depth.set(7);
  one.halted.set(1);
  one.shared.set(1);
  const totals = new WorkerMetrics();
  totals.take(1, await one.metrics.snapshot());
  totals.take(2, await two.metrics.snapshot());
  return { one, two, totals };
}

const none = new Metrics('gate', { processMetrics: false });

describe('the metrics of several workers', () => {
  it('sums counters, histograms and per-worker gauges, and takes the worse of shared gauges', async () => {
    const { totals } = await twoWorkers();
    const text = await totals.text(await none.snapshot());
    expect(linesOf(text)).toEqual([
      'requests_total{kind="a",service="gate"} 7',
      'requests_total{kind="b",service="gate"} 5',
      'wait_seconds_bucket{le="1",service="gate"} 1',
      'wait_seconds_bucket{le="2",service="gate"} 2',
      'wait_seconds_bucket{le="+Inf",service="gate"} 3',
      'wait_seconds_sum{service="gate"} 11',
      'wait_seconds_count{service="gate"} 3',
      'depth{service="gate"} 9',
      'halted{service="gate"} 1',
      'shared{service="gate"} 0',
    ]);
    expect(text).toContain('# HELP requests_total Requests.\n# TYPE requests_total counter\n');
  });

  it('counts each worker once, also after serialization between processes', async () => {
    const { one, totals } = await twoWorkers();
    one.requests.inc({ kind: 'a' });
    const sent: unknown = JSON.parse(JSON.stringify(await one.metrics.snapshot()));
    totals.take(1, sent as Awaited<ReturnType<Metrics['snapshot']>>);
    await totals.text(await none.snapshot());
    expect(linesOf(await totals.text(await none.snapshot()))[0]).toBe('requests_total{kind="a",service="gate"} 8');
  });

  it('keeps counters but not gauges of an exited worker', async () => {
    const { one, totals } = await twoWorkers();
    totals.end(2);
    const after = linesOf(await totals.text(await none.snapshot()));
    expect(after).toContain('requests_total{kind="a",service="gate"} 7');
    expect(after).toContain('wait_seconds_count{service="gate"} 3');
    expect(after).toContain('depth{service="gate"} 2');
    one.requests.inc({ kind: 'a' });
    totals.take(1, await one.metrics.snapshot());
    totals.end(1);
    // All have exited, one of them twice: nothing is lost or counted twice.
    totals.end(1);
    const last = linesOf(await totals.text(await none.snapshot()));
    expect(last).toContain('requests_total{kind="a",service="gate"} 8');
    expect(last).toContain('wait_seconds_bucket{le="+Inf",service="gate"} 3');
    expect(last.some((line) => line.startsWith('depth'))).toBe(false);
  });

  it('loses nothing if two workers exit at the same time', async () => {
    const { totals } = await twoWorkers();
    totals.end(1);
    totals.end(2);
    expect(linesOf(await totals.text(await none.snapshot()))[0]).toBe('requests_total{kind="a",service="gate"} 7');
  });

  it('aggregates process metrics without losing or duplicating a metric or label', async () => {
    const [one, two] = [new Metrics('gate'), new Metrics('gate')];
    const totals = new WorkerMetrics();
    totals.take(1, await one.snapshot());
    const text = await totals.text(await two.snapshot());
    const names = (of: string) => of.match(/^# TYPE \S+ \S+$/gm)?.toSorted();
    expect(names(text)).toEqual(names(await one.text()));
    expect(text.match(/^sealgate_build_info\{.*\} 1$/gm)).toHaveLength(1);
    expect(text.match(/^process_start_time_seconds\{service="gate"\} \d+$/gm)).toHaveLength(1);
    const aggregators = Object.fromEntries((await one.snapshot()).map(({ name, aggregator }) => [name, aggregator]));
    expect(aggregators).toMatchObject({
      process_cpu_seconds_total: 'sum',
      process_resident_memory_bytes: 'sum',
      process_start_time_seconds: 'min',
      nodejs_eventloop_lag_seconds: 'max',
      nodejs_eventloop_lag_p99_seconds: 'max',
      nodejs_version_info: 'first',
      nodejs_heap_size_used_bytes: 'sum',
    });
  });
});
