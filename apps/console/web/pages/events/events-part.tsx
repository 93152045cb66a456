import type { ReactNode } from 'react';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';

export const EventsPart = (): ReactNode => (
  <Page title="Events">
    <ListEmpty title="This part is not built yet" />
  </Page>
);
