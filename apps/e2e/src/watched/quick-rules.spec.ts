import { describe, expect, it } from '@jest/globals';
import { quickRules } from './quick-rules.ts';

describe('rules whose time passes thirty times as fast', () => {
  it.each([
    ['for: 2m', 'for: 4000ms'],
    ['interval: 1m', 'interval: 2000ms'],
    ['increase(a[5m] offset 5m) > 0', 'increase(a[10000ms] offset 10000ms) > 0'],
    ['rate5m * 300 >= 10', 'rate5m * 10 >= 10'],
    ['sum_over_time(a:rate5m[6h]) * 60 / 21600', 'sum_over_time(a:rate5m[720000ms]) * 2 / 720'],
    ['(time() - process_start_time_seconds) > 120', '(time() - process_start_time_seconds) > 4'],
    ['and service:http_requests:rate30m > 0.1', 'and service:http_requests:rate30m > 3'],
  ])('have %s as %s', (given, expected) => expect(quickRules(given, 30)).toBe(expected));

  it.each([
    'service:http_failed:rate1h / service:http_requests:rate1h > 14.4 * 0.001',
    'ledger_waiting_units > 4096',
    'labels: { severity: page, window: 1h }',
    'ALERTS{window=~"1h|6h"}',
  ])('keep counts, shares and names: %s', (given) => expect(quickRules(given, 30)).toBe(given));
});
