import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import classes from './code-text.module.css';

/**
 * An id, a hash or a key in fixed-width letters, with copy. `short` shows the first characters of what nobody reads
 * whole; all of it is copied, and is in the title.
 */
export function CodeText({ value, label, short }: { value: string; label: string; short?: number }): ReactNode {
  const shown = short !== undefined && value.length > short ? `${value.slice(0, short)}…` : value;
  return (
    <span className={classes['code']}>
      <code title={shown === value ? undefined : value}>{shown}</code>
      <CopyButton value={value} label={`Copy ${label}`} />
    </span>
  );
}
