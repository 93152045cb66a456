import type { ReactNode } from 'react';
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import classes from './code-text.module.css';
import { Icon } from './icons.tsx';
import * as texts from './texts.ts';

/**
 * An id, hash or key in a monospace font, with a copy button. `short` shows only the first characters; the full text is
 * copied and in the tooltip. `label` is the accessible name of the button: "Copy the id".
 */
export function CodeText({ value, label, short }: { value: string; label: string; short?: number }): ReactNode {
  const shown = short !== undefined && value.length > short ? `${value.slice(0, short)}…` : value;
  return (
    <span className={classes['code']}>
      <code title={shown === value ? undefined : value}>{shown}</code>
      <CopyButton value={value} label={label} />
    </span>
  );
}

/** Copies a text. `label` is the accessible name: "Copy the key". */
export function CopyButton({ value, label }: { value: string; label: string }): ReactNode {
  const clipboard = useClipboard({ timeout: 1_500 });
  const words = clipboard.copied ? texts.copied : clipboard.error === null ? label : texts.theBrowserRefusedToCopy;
  return (
    <Tooltip label={words}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => clipboard.copy(value)}>
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={15} />
        <span aria-live="polite" className="visually-hidden">
          {clipboard.copied ? texts.copied : ''}
        </span>
      </ActionIcon>
    </Tooltip>
  );
}
