import type { ReactNode } from 'react';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import type { LedgerSurface } from '../ledger/ledger-source.ts';
import { SurfacePicker, useReadableLedgers, useSurface } from './by-surface.tsx';
import * as texts from './texts.ts';

interface OfLedgerProps {
  readonly title: string;
  readonly children: (surface: LedgerSurface, picker: ReactNode) => ReactNode;
}

/** A page about the ledger as one of the services administers it. */
export function OfLedger({ title, children }: OfLedgerProps): ReactNode {
  const readable = useReadableLedgers();
  const surface = useSurface(readable);
  if (surface !== undefined) return children(surface, <SurfacePicker of={readable} value={surface} />);
  return (
    <Page title={title}>
      <ListEmpty title={texts.noServiceShowsYouItsLedger} icon="ledger" />
    </Page>
  );
}
