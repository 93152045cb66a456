import type { ReactNode } from 'react';
import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Icon } from './icons.tsx';

/** Copies a text. `label` names what is copied: "Copy the key". */
export function CopyButton({ value, label }: { value: string; label: string }): ReactNode {
  const clipboard = useClipboard({ timeout: 1_500 });
  const words = clipboard.copied ? 'Copied' : clipboard.error === null ? label : 'The browser refused to copy';
  return (
    <Tooltip label={words}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => clipboard.copy(value)}>
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={15} />
        <span aria-live="polite" className="visually-hidden">
          {clipboard.copied ? 'Copied' : ''}
        </span>
      </ActionIcon>
    </Tooltip>
  );
}
