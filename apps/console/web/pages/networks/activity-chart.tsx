import type { ReactNode } from 'react';
import { Group, Paper, SegmentedControl, Text } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { formatHour, formatNumber, formatUtcDayOfYear } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import * as texts from './delivery-texts.ts';
import classes from './activity-chart.module.css';

type Step = Schemas['ingestGatewayAdmin']['SourceActivity'];
type Kind = 'accepted' | 'replayed' | 'conflicts' | 'refused';
export type ActivityStep = 'hour' | 'day';

/** From the bottom of a bar to its top. */
const KINDS: readonly (readonly [Kind, string])[] = [
  ['accepted', texts.accepted],
  ['replayed', texts.sentAgain],
  ['conflicts', texts.conflicts],
  ['refused', texts.refused],
];

const nameOf = (per: ActivityStep, from: string): string =>
  (per === 'hour' ? formatHour : formatUtcDayOfYear)(new Date(from));

interface ChartProps {
  readonly networkId: string;
  readonly sourceId: string;
  readonly per: ActivityStep;
  readonly onPer: (per: ActivityStep) => void;
}

/** Volume and errors of a source over 24 hours or 14 days. */
export function ActivityChart({ networkId, sourceId, per, onPer }: ChartProps): ReactNode {
  const activity = api.useQuery(
    'get',
    '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/activity',
    { params: { path: { networkId, sourceId }, query: { per } } },
    { refetchInterval: 60_000 },
  );
  return (
    <Paper component="section" aria-label={texts.volumeAndErrors}>
      <Group justify="space-between" mb="xs">
        <Group gap="md">
          {KINDS.map(([kind, title]) => (
            <Group key={kind} gap={6}>
              <span className={`${classes['key']} ${classes[kind]}`} />
              <Text size="sm">
                {title} {activity.data && formatNumber(sumOf(activity.data.items, kind))}
              </Text>
            </Group>
          ))}
        </Group>
        <SegmentedControl
          size="xs"
          aria-label={texts.period}
          data={[
            { value: 'hour', label: texts.lastDay },
            { value: 'day', label: texts.lastTwoWeeks },
          ]}
          value={per}
          onChange={(value) => onPer(value === 'day' ? 'day' : 'hour')}
        />
      </Group>
      <Unread read={activity} rows={3} />
      {activity.data !== undefined && <Bars steps={activity.data.items} per={per} />}
    </Paper>
  );
}

const sumOf = (steps: readonly Step[], kind: Kind): number => steps.reduce((sum, step) => sum + step[kind], 0);
const totalOf = (step: Step): number => KINDS.reduce((sum, [kind]) => sum + step[kind], 0);

const HEIGHT = 96;
const WIDTH = 30;
/** A single delivery must be seen beside thousands. */
const LEAST = 3;

const shownAs = (per: ActivityStep, from: string): string =>
  per === 'day' ? texts.inUtc(nameOf(per, from)) : nameOf(per, from);

function Bars({ steps, per }: { readonly steps: readonly Step[]; readonly per: ActivityStep }): ReactNode {
  const most = Math.max(1, ...steps.map(totalOf));
  const height = (count: number): number => (count === 0 ? 0 : Math.max(LEAST, (count / most) * (HEIGHT - 2 * LEAST)));
  const words = KINDS.map(([kind, title]) => `${title} ${sumOf(steps, kind)}`).join(', ');
  const [first, last] = [steps.at(0), steps.at(-1)];
  return (
    <>
      <svg
        viewBox={`0 0 ${steps.length * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className={classes['chart']}
        role="img"
        aria-label={per === 'hour' ? texts.deliveriesOfTheLastDay(words) : texts.deliveriesOfTheLastTwoWeeks(words)}
      >
        {steps.map((step, at) => {
          let top = HEIGHT;
          return (
            <g key={step.from}>
              <title>{`${nameOf(per, step.from)}: ${KINDS.map(([kind, title]) => `${title} ${step[kind]}`).join(', ')}`}</title>
              <rect x={at * WIDTH} y={0} width={WIDTH} height={HEIGHT} fill="transparent" />
              {KINDS.map(([kind]) => {
                top -= height(step[kind]);
                return (
                  <rect
                    key={kind}
                    className={classes[kind]}
                    x={at * WIDTH + 3}
                    y={top}
                    width={WIDTH - 6}
                    height={height(step[kind])}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <Group justify="space-between">
        {[first, last].map((step) => (
          <Text key={step?.from} size="xs" c="dimmed">
            {step !== undefined && shownAs(per, step.from)}
          </Text>
        ))}
      </Group>
    </>
  );
}
