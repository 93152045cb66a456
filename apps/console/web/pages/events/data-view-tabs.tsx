import type { ReactNode } from 'react';
import { Group } from '@mantine/core';
import { PartTabs } from '../part-tabs.tsx';

/** What was written, and what was refused. */
export const DataViewTabs = (): ReactNode => (
  <Group>
    <PartTabs
      label="Pages of the data view"
      tabs={[
        { to: '/events', title: 'Events', end: true },
        { to: '/events/refused', title: 'Refused deliveries' },
      ]}
    />
  </Group>
);
