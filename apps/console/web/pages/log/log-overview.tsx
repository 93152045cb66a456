import type { ReactNode } from 'react';
import { Group, Paper, Text } from '@mantine/core';
import { parseCheckpoint, parseSignatures } from '@sealgate/merkle';
import { formatDay, formatMoment, formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Fact, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import type { LogOverview } from './find-entry.ts';
import { LogNotes } from './log-notes.tsx';
import * as texts from './texts.ts';
import classes from './log.module.css';

const DAY_MS = 86_400_000;
const [WIDTH, HEIGHT] = [600, 120];

/** How many records the log had over time; a table of the same numbers is read by screen readers. */
export function Growth({ points }: { readonly points: LogOverview['growth'] }): ReactNode {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) {
    return (
      <Paper>
        <ListEmpty title={texts.theLogIsEmpty} icon="ledger" />
      </Paper>
    );
  }
  const [fromMs, toMs] = [Date.parse(first.at), Date.parse(last.at)];
  const x = (at: string) => (toMs === fromMs ? WIDTH : (WIDTH * (Date.parse(at) - fromMs)) / (toMs - fromMs));
  const y = (size: number) => HEIGHT - ((HEIGHT - 4) * size) / last.size;
  const end = toMs - fromMs < 2 * DAY_MS ? formatMoment : formatDay;
  const line = points.map(({ at, size }) => `L${x(at).toFixed(1)} ${y(size).toFixed(1)}`).join('');
  return (
    <Section title={texts.growth}>
      <Paper>
        <Group justify="space-between" mb="xs">
          <Text fw={600}>{texts.recordCount(last.size, formatNumber(last.size))}</Text>
          <Text size="sm">{texts.newestAt(<Time value={last.at} form="ago" />)}</Text>
        </Group>
        <svg
          className={classes['growth']}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <path className={classes['area']} d={`M0 ${HEIGHT}${line}L${WIDTH} ${HEIGHT}Z`} />
          <path className={classes['line']} d={`M0 ${HEIGHT}${line}`} />
        </svg>
        <Group justify="space-between" aria-hidden="true">
          <Text size="xs">{end(new Date(fromMs))}</Text>
          <Text size="xs">{end(new Date(toMs))}</Text>
        </Group>
        <div className="visually-hidden">
          <table aria-label={texts.growth}>
            <thead>
              <tr>
                <th scope="col">{texts.time}</th>
                <th scope="col">{texts.records}</th>
              </tr>
            </thead>
            <tbody>
              {points.map(({ at, size }) => (
                <tr key={size}>
                  <th scope="row">{formatMoment(new Date(at))}</th>
                  <td>{size}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Paper>
    </Section>
  );
}

/** The newest signed note of each log of the channel, and who signed it. */
export const Checkpoints = ({ logs }: Pick<LogOverview, 'logs'>): ReactNode => (
  <LogNotes logs={logs} factsOf={(checkpoint, origin) => <NoteFacts checkpoint={checkpoint} origin={origin} />} />
);

function NoteFacts({ checkpoint, origin }: { readonly checkpoint: string; readonly origin: string }): ReactNode {
  const witnesses = witnessesOf(checkpoint, origin);
  return (
    <Group gap="xl">
      <Fact label={texts.entries}>{formatNumber(parseCheckpoint(checkpoint).size)}</Fact>
      <Fact label={texts.witnesses}>{witnesses.length === 0 ? texts.none : witnesses.join(', ')}</Fact>
    </Group>
  );
}

/** Names of signatures other than those of the log and the ledger. Whose they are, a policy on the page Verify says. */
function witnessesOf(checkpoint: string, origin: string): string[] {
  const names = parseSignatures(checkpoint.slice(checkpoint.lastIndexOf('\n\n') + 2)).map(({ name }) => name);
  return [...new Set(names)].filter((name) => name !== origin && !origin.startsWith(`${name}/`));
}
