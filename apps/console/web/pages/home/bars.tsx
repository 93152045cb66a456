import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { formatNumber } from '../../shell/formats.ts';
import * as texts from './texts.ts';
import classes from './bars.module.css';

export type Tone = 'good' | 'wait' | 'bad' | 'plain';

interface BarsProps {
  readonly label: string;
  readonly bars: readonly {
    readonly name: string;
    readonly value: number;
    readonly to?: string;
    readonly tone?: Tone;
  }[];
}

/** Bars side by side with their numbers, so that neither length nor colour is needed to read them. */
export function Bars({ label, bars }: BarsProps): ReactNode {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <dl className={classes['bars']} aria-label={label}>
      {bars.map(({ name, value, to, tone = 'plain' }) => (
        <div key={name} className={classes['row']}>
          <dt>
            {to === undefined ? (
              <Text size="sm" className="wrap">
                {name}
              </Text>
            ) : (
              <Anchor component={Link} to={to} size="sm" className="wrap">
                {name}
              </Anchor>
            )}
          </dt>
          <dd>
            <span className={classes['track']} aria-hidden="true">
              <span className={classes['bar']} data-tone={tone} style={{ width: `${(100 * value) / most}%` }} />
            </span>
            <Text size="sm" fw={600} component="span" className={classes['number'] ?? ''}>
              {formatNumber(value)}
            </Text>
          </dd>
        </div>
      ))}
    </dl>
  );
}

export interface ColumnsProps {
  readonly label: string;
  /** What each part of a column is. */
  readonly parts: readonly { readonly name: string; readonly tone: Tone }[];
  readonly columns: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** Of half the height. */
  readonly low?: boolean;
}

/** A series as stacked columns; a table of the same numbers is read by screen readers. */
export function Columns({ label, parts, columns, low }: ColumnsProps): ReactNode {
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const most = Math.max(1, ...columns.map(({ values }) => sumOf(values)));
  return (
    <figure className={classes['figure']}>
      <figcaption className={classes['legend']}>
        {parts.map(({ name, tone }) => (
          <span key={name}>
            <span className={classes['mark']} data-tone={tone} aria-hidden="true" /> {name}
          </span>
        ))}
        <span className={classes['most']}>{texts.mostOf(formatNumber(most))}</span>
      </figcaption>
      <div className={classes['columns']} data-low={low} aria-hidden="true">
        {columns.map(({ name, values }) => (
          <div key={name} className={classes['column']} title={`${name}: ${formatNumber(sumOf(values))}`}>
            {values.map((value, index) => (
              <span
                key={parts[index]?.name}
                data-tone={parts[index]?.tone}
                style={{ height: `${(100 * value) / most}%` }}
              />
            ))}
          </div>
        ))}
      </div>
      <div className={classes['ends']} aria-hidden="true">
        <span>{columns[0]?.name}</span>
        <span>{columns.at(-1)?.name}</span>
      </div>
      <div className="visually-hidden">
        <table aria-label={label}>
          <thead>
            <tr>
              <th scope="col">{texts.time}</th>
              {parts.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {columns.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {values.map((value, index) => (
                  <td key={parts[index]?.name}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
