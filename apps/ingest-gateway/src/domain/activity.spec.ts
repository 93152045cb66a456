import { describe, expect, it } from '@jest/globals';
import { ACTIVITY_SPANS, activityOf } from './activity.ts';

const NOW_MS = Date.UTC(2030, 0, 15, 10, 30);
const hourOf = (day: number, hour: number, more: object = {}) => ({
  hour: new Date(Date.UTC(2030, 0, day, hour)),
  accepted: 2,
  replayed: 0,
  conflicts: 0,
  refused: 1,
  ...more,
});

describe('the activity of a source', () => {
  it('has 24 hours, the last of which is running, also those without a delivery', () => {
    const from = ACTIVITY_SPANS.hour.from(NOW_MS);
    const rows = activityOf(ACTIVITY_SPANS.hour, from, [hourOf(14, 11), hourOf(15, 10, { conflicts: 4 })]);
    expect(rows).toHaveLength(24);
    expect(rows[0]).toEqual({ from: '2030-01-14T11:00:00.000Z', accepted: 2, replayed: 0, conflicts: 0, refused: 1 });
    expect(rows[1]).toEqual({ from: '2030-01-14T12:00:00.000Z', accepted: 0, replayed: 0, conflicts: 0, refused: 0 });
    expect(rows[23]).toMatchObject({ from: '2030-01-15T10:00:00.000Z', conflicts: 4 });
  });

  it('has 14 days, each the sum of its hours', () => {
    const from = ACTIVITY_SPANS.day.from(NOW_MS);
    const rows = activityOf(ACTIVITY_SPANS.day, from, [hourOf(2, 0), hourOf(2, 23), hourOf(15, 0, { replayed: 3 })]);
    expect(rows).toHaveLength(14);
    expect(rows[0]).toEqual({ from: '2030-01-02T00:00:00.000Z', accepted: 4, replayed: 0, conflicts: 0, refused: 2 });
    expect(rows[13]).toMatchObject({ from: '2030-01-15T00:00:00.000Z', accepted: 2, replayed: 3 });
  });
});
