import { describe, expect, it } from '@jest/globals';
import { httpMetrics } from './request-record.ts';
import { Metrics } from './metrics.ts';

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

  it('counts an invalid status as 5xx and an unknown method as other', async () => {
    const text = await scrape((http) => http.route('PROPFIND', 'none').observe(0, 1));
    expect(text).toContain('http_requests_total{route="none",method="other",status="5xx",service="s"} 1');
  });
});
