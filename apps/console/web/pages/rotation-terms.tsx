import { useState, type ReactNode } from 'react';
import { NumberInput, Radio, Stack } from '@mantine/core';
import { formatMoment } from '../shell/formats.ts';

const HOUR_SECONDS = 3_600;
const MAX_HOURS = 168;

/** When the old key of a rotation ends: now, because it leaked, or after a time in which both work. */
export function useRotationTerms(leaks: boolean): {
  readonly fields: ReactNode;
  readonly isLeaked: boolean;
  readonly overlapSeconds: number;
  /** False: the time is missing. */
  readonly isReady: boolean;
} {
  const [isLeaked, setLeaked] = useState(leaks);
  const [hours, setHours] = useState<string | number>(24);
  const fault = Number(hours) >= 1 && Number(hours) <= MAX_HOURS ? undefined : `From 1 to ${MAX_HOURS} hours.`;
  const seconds = Math.round(Number(hours) * HOUR_SECONDS);
  const until = formatMoment(new Date(Date.now() + seconds * 1_000));
  const fields = (
    <Radio.Group
      label="Why is it replaced?"
      value={isLeaked ? 'leaked' : 'in time'}
      onChange={(value) => setLeaked(value === 'leaked')}
    >
      <Stack gap="xs" mt={6}>
        <Radio
          value="leaked"
          label="It leaked: end it now"
          description="From the next request on, whatever has the old key is refused, you included until you use the new one."
        />
        <Radio
          value="in time"
          label={`Replace it in time: both work until ${until}`}
          description="Time to give the new one to everything that uses the old one, which then ends by itself."
        />
        {!isLeaked && (
          <NumberInput
            label="Both keys work for (hours)"
            min={1}
            max={MAX_HOURS}
            clampBehavior="strict"
            required
            error={fault}
            value={hours}
            onChange={setHours}
          />
        )}
      </Stack>
    </Radio.Group>
  );
  return { fields, isLeaked, overlapSeconds: isLeaked ? 0 : seconds, isReady: isLeaked || fault === undefined };
}
