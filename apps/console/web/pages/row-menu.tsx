import type { ReactNode } from 'react';
import { ActionIcon, Menu } from '@mantine/core';
import { Icon } from '../shell/icons.tsx';

interface RowAction {
  readonly title: string;
  readonly tone?: 'danger';
  readonly onClick: () => void;
}

/** What can be done with a row, behind one button; nothing where there is nothing to do. */
export function RowMenu({
  label,
  actions,
}: {
  readonly label: string;
  readonly actions: readonly RowAction[];
}): ReactNode {
  if (actions.length === 0) return null;
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label}>
          <Icon name="more" size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ title, tone, onClick }) => (
          <Menu.Item key={title} onClick={onClick} {...(tone === 'danger' && { c: 'var(--console-bad)' })}>
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
