import { describe, expect, it } from '@jest/globals';
import { logMetrics } from './log.ts';
import { httpMetrics, Metrics } from './metrics.ts';

function metricsFor(unknownLabels: 'throw' | 'other' = 'throw'): Metrics {
  return new Metrics('case-gate', { unknownLabels, processMetrics: false });
}

describe('Metrics', () => {
  it('counts by child and by labels, with the service on every line', async () => {
    const metrics = metricsFor();
    const writes = metrics.counter({
      name: 'writes_total',
      help: 'Writes.',
      labels: { outcome: ['accepted', 'refused'] },
    });
    const accepted = writes.child({ outcome: 'accepted' });
    accepted.inc();
    accepted.inc(2);
    writes.inc({ outcome: 'refused' });
    writes.inc({ outcome: 'accepted' }, 4);
    expect(await metrics.text()).toBe(
      [
        '# HELP writes_total Writes.',
        '# TYPE writes_total counter',
        'writes_total{outcome="accepted",service="case-gate"} 7',
        'writes_total{outcome="refused",service="case-gate"} 1',
        '',
      ].join('\n'),
    );
  });

  it('exposes a metric without labels, and a bound child, as zero from the start', async () => {
    const metrics = metricsFor();
    metrics.counter({ name: 'a_total', help: 'A.' });
    metrics.counter({ name: 'b_total', help: 'B.', labels: { c: ['d'] } }).child({ c: 'd' });
    const text = await metrics.text();
    expect(text).toContain('a_total{service="case-gate"} 0');
    expect(text).toContain('b_total{c="d",service="case-gate"} 0');
  });

  it('refuses negative and non-numeric increments', () => {
    const child = metricsFor().counter({ name: 'a_total', help: 'A.' }).child({});
    expect(() => child.inc(-1)).toThrow(RangeError);
    expect(() => child.inc(Number.NaN)).toThrow(RangeError);
  });

  it('throws for a label value outside its set, or replaces it by other', async () => {
    const definition = { name: 'a_total', help: 'A.', labels: { outcome: ['yes'] as readonly string[] } };
    const strict = metricsFor().counter(definition);
    expect(() => strict.inc({ outcome: 'no' })).toThrow('The label outcome of a_total');
    expect(() => strict.child({ outcome: 'no' })).toThrow(RangeError);
    const metrics = metricsFor('other');
    const lenient = metrics.counter(definition);
    lenient.inc({ outcome: 'no' });
    lenient.inc({ outcome: 'never' });
    expect(await metrics.text()).toContain('a_total{outcome="other",service="case-gate"} 2');
  });

  it('declares values of a declared label through child only', async () => {
    const metrics = metricsFor('other');
    const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: { route: 'declared' } });
    counter.child({ route: '/known' });
    counter.inc({ route: '/known' });
    counter.inc({ route: '/made-up' });
    const text = await metrics.text();
    expect(text).toContain('route="/known",service="case-gate"} 1');
    expect(text).toContain('route="other",service="case-gate"} 1');
    const strict = metricsFor().counter({ name: 'a_total', help: 'A.', labels: { route: 'declared' } });
    expect(() => strict.inc({ route: '/made-up' })).toThrow(RangeError);
  });

  it('limits the number of children', () => {
    const counter = metricsFor().counter({ name: 'a_total', help: 'A.', labels: { route: 'declared' } });
    const declareMany = (): void => {
      for (let count = 0; count <= 2000; count += 1) counter.child({ route: String(count) });
    };
    expect(declareMany).toThrow('a_total has too many label values.');
  });

  it('counts observations in buckets with inclusive bounds', async () => {
    const metrics = metricsFor();
    const seconds = metrics.histogram({
      name: 'wait_seconds',
      help: 'Wait.',
      buckets: [0.1, 1],
      labels: { kind: ['a'] },
    });
    const child = seconds.child({ kind: 'a' });
    for (const value of [0.1, 0.10001, 1, 5]) child.observe(value);
    seconds.observe({ kind: 'a' }, 0);
    const lines = (await metrics.text()).trim().split('\n');
    expect(lines).toEqual([
      '# HELP wait_seconds Wait.',
      '# TYPE wait_seconds histogram',
      'wait_seconds_bucket{le="0.1",service="case-gate",kind="a"} 2',
      'wait_seconds_bucket{le="1",service="case-gate",kind="a"} 4',
      'wait_seconds_bucket{le="+Inf",service="case-gate",kind="a"} 5',
      'wait_seconds_sum{service="case-gate",kind="a"} 6.20001',
      'wait_seconds_count{service="case-gate",kind="a"} 5',
    ]);
    expect(() => child.observe(Number.NaN)).toThrow('not a valid number');
  });

  it('collects a gauge before every scrape and keeps the last value on failure', async () => {
    const metrics = metricsFor();
    let value = 1;
    metrics.gauge({
      name: 'pool_connections',
      help: 'Connections.',
      labels: { state: ['idle', 'busy'] },
      collect: (gauge) => {
        if (value > 1) throw new Error('cannot');
        gauge.set({ state: 'idle' }, value);
      },
    });
    expect(await metrics.text()).toContain('pool_connections{state="idle",service="case-gate"} 1');
    value = 2;
    expect(await metrics.text()).toContain('pool_connections{state="idle",service="case-gate"} 1');
  });

  it('reads an observed gauge before every scrape, and keeps the last value while there is none', async () => {
    const metrics = metricsFor();
    let depth: number | undefined = 3;
    metrics.observedGauge({ name: 'waiting_units', help: 'Units.', read: () => depth });
    expect(await metrics.text()).toContain('waiting_units{service="case-gate"} 3');
    depth = undefined;
    expect(await metrics.text()).toContain('waiting_units{service="case-gate"} 3');
    depth = 0;
    expect(await metrics.text()).toContain('waiting_units{service="case-gate"} 0');
  });

  it('increments and decrements a gauge', async () => {
    const metrics = metricsFor();
    const running = metrics.gauge({ name: 'running', help: 'Running.' }).child({});
    running.inc(5);
    running.dec();
    expect(await metrics.text()).toContain('running{service="case-gate"} 4');
    running.set(-1);
    expect(await metrics.text()).toContain('running{service="case-gate"} -1');
  });

  it('exposes the number of dropped log lines', async () => {
    const metrics = metricsFor();
    const log = { droppedLines: 7 };
    logMetrics(metrics, log);
    log.droppedLines = 9;
    expect(await metrics.text()).toContain('log_lines_dropped_total{service="case-gate"} 9');
  });

  it('escapes label values', async () => {
    const metrics = metricsFor();
    metrics
      .counter({ name: 'a_total', help: 'A.', labels: { route: 'declared' } })
      .child({ route: 'a"b\\c\nd' })
      .inc();
    expect(await metrics.text()).toContain('a_total{route="a\\"b\\\\c\\nd",service="case-gate"} 1');
  });

  it.each(['Upper_total', 'a-b_total', '1a_total', '_total'])('refuses the name %s', (name) => {
    expect(() => metricsFor().counter({ name, help: 'A.' })).toThrow('snake case');
  });

  it('refuses a duplicate name, a counter without _total and buckets that are not ascending', () => {
    const metrics = metricsFor();
    metrics.gauge({ name: 'a', help: 'A.' });
    expect(() => metrics.gauge({ name: 'a', help: 'A.' })).toThrow('already been registered');
    expect(() => metrics.counter({ name: 'b', help: 'B.' })).toThrow('must end in _total');
    expect(() => metrics.observedCounter({ name: 'b', help: 'B.', read: () => 1 })).toThrow('must end in _total');
    for (const name of ['b_total', 'b_bytes_total', 'b_count', 'b_sum', 'b_bucket']) {
      expect(() => metrics.gauge({ name, help: 'B.' })).toThrow('is for another kind of metric');
      expect(() => metrics.histogram({ name, help: 'B.' })).toThrow('is for another kind of metric');
    }
    expect(() => metrics.gauge({ name: 'b', help: ' ' })).toThrow('needs a help text');
    expect(() => metrics.histogram({ name: 'c_seconds', help: 'C.', buckets: [1, 1] })).toThrow('must rise');
    expect(() => metrics.histogram({ name: 'c_seconds', help: 'C.', buckets: [] })).toThrow('must rise');
  });

  it('prints valid Prometheus text: HELP, TYPE and a valid name, _total only on counters', async () => {
    const metrics = new Metrics('case-gate');
    metrics.counter({ name: 'a_total', help: 'A.' });
    metrics.histogram({ name: 'b_seconds', help: 'B.' });
    const lines = (await metrics.text()).split('\n');
    const types = lines.flatMap((line) => {
      const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      return name === '' ? [] : [{ name, type }];
    });
    expect(types.length).toBeGreaterThan(20);
    for (const { name, type } of types) {
      expect(name).toMatch(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/);
      expect(`${name} ${type} ${name.endsWith('_total')}`).toBe(`${name} ${type} ${type === 'counter'}`);
      expect(lines.some((line) => new RegExp(`^# HELP ${name} \\S`).test(line))).toBe(true);
    }
    const named = new Set(types.map(({ name }) => name));
    const strays = lines.filter((line) => {
      const [name = ''] = /^[a-z_0-9]+/.exec(line) ?? [];
      return name !== '' && !named.has(name) && !named.has(name.replace(/_(?:bucket|sum|count)$/, ''));
    });
    expect(strays).toEqual([]);
  });

  it('includes process metrics', async () => {
    const metrics = new Metrics('case-gate');
    const text = await metrics.text();
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });
});

async function scrape(use: (http: ReturnType<typeof httpMetrics>) => void): Promise<string> {
  const metrics = new Metrics('s', { unknownLabels: 'throw', processMetrics: false });
  use(httpMetrics(metrics));
  return metrics.text();
}

describe('httpMetrics', () => {
  it('counts by template, method and status class, and measures seconds', async () => {
    const text = await scrape((http) => {
      const route = http.route('post', '/{networkId}');
      route.observe(200, 3);
      route.observe(204, 3);
      route.observe(429, 40_000);
    });
    const labels = 'route="/{networkId}",method="POST"';
    expect(text).toContain(`http_requests_total{${labels},status="2xx",service="s"} 2`);
    expect(text).toContain(`http_requests_total{${labels},status="4xx",service="s"} 1`);
    expect(text).toContain(`http_requests_total{${labels},status="5xx",service="s"} 0`);
    expect(text).toContain(`http_request_duration_seconds_bucket{le="0.0025",service="s",${labels}} 0`);
    expect(text).toContain(`http_request_duration_seconds_bucket{le="0.005",service="s",${labels}} 2`);
    expect(text).toContain(`http_request_duration_seconds_sum{service="s",${labels}} 40.006`);
    expect(text).toContain(`http_request_duration_seconds_count{service="s",${labels}} 3`);
  });

  it('exposes a route from its first request on, then with every status class', async () => {
    const metrics = new Metrics('s', { unknownLabels: 'throw', processMetrics: false });
    const http = httpMetrics(metrics);
    const [first] = Array.from({ length: 200 }, (_, index) => http.route('GET', `/${index}`));
    const lines = async () => (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(await lines()).toEqual([]);
    first!.observe(200, 3);
    const classes = (await lines()).filter((line) => line.startsWith('http_requests_total'));
    expect(classes.map((line) => line.replace(/.*status="(...)".* /, '$1 '))).toEqual([
      '1xx 0',
      '2xx 1',
      '3xx 0',
      '4xx 0',
      '5xx 0',
    ]);
    expect((await lines()).every((line) => line.includes('route="/0"'))).toBe(true);
  });

  it('counts an invalid status as 5xx and an unknown method as other', async () => {
    const text = await scrape((http) => http.route('PROPFIND', 'none').observe(0, 1));
    expect(text).toContain('http_requests_total{route="none",method="other",status="5xx",service="s"} 1');
  });
});
