import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';
import classes from './state-badge.module.css';

export type Tone = 'good' | 'bad' | 'wait' | 'plain';

const marks: Readonly<Record<Tone, IconName>> = { good: 'check', bad: 'cross', wait: 'dash', plain: 'dash' };

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** A state as word, shape and colour, so that none is needed alone. The word begins with a capital, whoever made it. */
export const StateBadge = ({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode => (
  <span className={`${classes['badge']} ${classes[tone]}`}>
    {tone !== 'plain' && <Icon name={marks[tone]} size={13} />}
    {typeof children === 'string' ? capital(children) : children}
  </span>
);
