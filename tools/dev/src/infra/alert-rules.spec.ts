import { describe, expect, it } from '@jest/globals';
import { namesOfPromql } from './alert-rules.ts';

describe('the names in a PromQL expression', () => {
  it('separates metrics from labels, functions, keywords, durations and values', () => {
    const expression = `1 - sum by (service, le) (rate(a_bucket{route!~"none|x", le="0.5"}[5m] offset 1h))
      / on (service) group_left(job) b:c:rate6h{service="$service"} * 1e3 unless count(up) > bool 2 or vector(0)`;
    expect(namesOfPromql(expression)).toEqual({
      metrics: ['a_bucket', 'b:c:rate6h', 'up'],
      labels: ['job', 'le', 'route', 'service'],
      values: ['0.5'],
    });
  });

  it('returns each of several values, and no pattern', () => {
    const expression = 'a{x=~"ONE|TWO", y=~"claims-.*", z!="THREE"}';
    expect(namesOfPromql(expression).values).toEqual(['ONE', 'TWO']);
  });

  it('reads a bare metric, and group_left without a list', () => {
    expect(namesOfPromql('limits_shared').metrics).toEqual(['limits_shared']);
    expect(namesOfPromql('a * on (x) group_left b')).toEqual({ metrics: ['a', 'b'], labels: ['x'], values: [] });
  });
});
