import type { ReactNode } from 'react';
import { Group } from '@mantine/core';
import { PartTabs } from '../part-tabs.tsx';
import * as texts from './texts.ts';

/** What was written, and what was refused. */
export const DataViewTabs = (): ReactNode => (
  <Group>
    <PartTabs
      label={texts.pagesOfTheDataView}
      tabs={[
        { to: '/events', title: texts.events, end: true },
        { to: '/events/refused', title: texts.refusedDeliveries },
      ]}
    />
  </Group>
);
