import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';
import classes from './state-badge.module.css';

export type Tone = 'good' | 'bad' | 'wait' | 'plain';

const marks: Readonly<Record<Tone, IconName>> = { good: 'check', bad: 'cross', wait: 'dash', plain: 'dash' };

/** A state as word, shape and colour, so that none is needed alone. */
export const StateBadge = ({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode => (
  <span className={`${classes['badge']} ${classes[tone]}`}>
    {tone !== 'plain' && <Icon name={marks[tone]} size={13} />}
    {children}
  </span>
);
