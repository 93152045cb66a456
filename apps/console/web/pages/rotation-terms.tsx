import type { ReactNode } from 'react';
import { NumberInput, Radio, Stack } from '@mantine/core';
import { formatMoment } from '../shell/formats.ts';
import * as texts from './texts.ts';

const HOUR_SECONDS = 3_600;
const MAX_HOURS = 168;

/** When the old key of a rotation ends: now, because it leaked, or after a time in which both work. */
export interface RotationTerms {
  readonly why: 'leaked' | 'in time';
  readonly hours: string | number;
}

export const rotationTerms = (isLeaked: boolean): RotationTerms => ({
  why: isLeaked ? 'leaked' : 'in time',
  hours: 24,
});

interface WithTerms {
  readonly rotation: RotationTerms;
}

/** The rules of a form that has the terms as `rotation`. */
export const rotationRules = {
  hours: (hours: RotationTerms['hours'], { rotation: { why } }: WithTerms): string | null =>
    why === 'leaked' || (Number(hours) >= 1 && Number(hours) <= MAX_HOURS) ? null : texts.hoursFault(MAX_HOURS),
};

export const overlapSecondsOf = ({ why, hours }: RotationTerms): number =>
  why === 'leaked' ? 0 : Math.round(Number(hours) * HOUR_SECONDS);

interface MintWords {
  readonly create: string;
  readonly rotate: string;
  readonly endAndCreate: string;
}

/** What the dialog that makes a key, or the replacement of one, does in the end, and whether that ends a key at once. */
export function mintAction(isRotation: boolean, { why }: RotationTerms, { create, rotate, endAndCreate }: MintWords) {
  if (!isRotation) return { action: create };
  return why === 'leaked' ? { action: endAndCreate, tone: 'danger' as const } : { action: rotate };
}

interface FieldsProps {
  readonly terms: RotationTerms;
  /** The props of the input of a member. */
  readonly propsOf: (path: `rotation.${keyof RotationTerms}`) => object;
}

export function RotationFields({ terms, propsOf }: FieldsProps): ReactNode {
  const until = formatMoment(new Date(Date.now() + overlapSecondsOf({ ...terms, why: 'in time' }) * 1_000));
  return (
    <Radio.Group label={texts.whyIsItReplaced} {...propsOf('rotation.why')}>
      <Stack gap="xs" mt={6}>
        <Radio value="leaked" label={texts.itLeakedEndItNow} description={texts.itLeakedEndItNowHint} />
        <Radio value="in time" label={texts.replaceItInTime(until)} description={texts.replaceItInTimeHint} />
        {terms.why === 'in time' && (
          <NumberInput
            label={texts.bothKeysWorkForHours}
            min={1}
            max={MAX_HOURS}
            clampBehavior="strict"
            required
            {...propsOf('rotation.hours')}
          />
        )}
      </Stack>
    </Radio.Group>
  );
}
