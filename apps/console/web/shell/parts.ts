import type { ComponentType } from 'react';
import type { IconName } from './icons.tsx';
import type { Session, SurfaceId } from './session.ts';

interface Part {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** The part is in the menu if one of these surfaces is configured; without any, always. */
  readonly needs: readonly { readonly surface: SurfaceId; readonly listener: 'api' | 'admin' }[];
  /** Works without a session. */
  readonly open?: boolean;
  readonly load: () => Promise<{ Component: ComponentType }>;
}

/** The parts of the console in menu order. Each is loaded on demand. */
export const parts: readonly Part[] = [
  {
    path: 'home',
    title: 'Overview',
    icon: 'overview',
    needs: [],
    load: async () => ({ Component: (await import('../pages/overview/overview-part.tsx')).OverviewPart }),
  },
  {
    path: 'networks',
    title: 'Networks and keys',
    icon: 'networks',
    needs: [{ surface: 'ingest-gateway', listener: 'admin' }],
    load: async () => ({ Component: (await import('../pages/networks/networks-part.tsx')).NetworksPart }),
  },
  {
    path: 'events',
    title: 'Data view',
    icon: 'events',
    needs: [{ surface: 'ingest-gateway', listener: 'admin' }],
    load: async () => ({ Component: (await import('../pages/events/events-part.tsx')).EventsPart }),
  },
  {
    path: 'ledger',
    title: 'Ledger explorer',
    icon: 'ledger',
    needs: [
      { surface: 'ingest-gateway', listener: 'admin' },
      { surface: 'ledger-peer', listener: 'admin' },
    ],
    load: async () => ({ Component: (await import('../pages/ledger/ledger-part.tsx')).LedgerPart }),
  },
  {
    path: 'risks',
    title: 'Risks',
    icon: 'risks',
    needs: [{ surface: 'risk-partner', listener: 'api' }],
    load: async () => ({ Component: (await import('../pages/risks/risks-part.tsx')).RisksPart }),
  },
  {
    path: 'cases',
    title: 'Cases',
    icon: 'cases',
    needs: [{ surface: 'case-gate', listener: 'admin' }],
    load: async () => ({ Component: (await import('../pages/cases/cases-part.tsx')).CasesPart }),
  },
  {
    path: 'door',
    title: 'Door',
    icon: 'door',
    needs: [{ surface: 'case-gate', listener: 'api' }],
    open: true,
    load: async () => ({ Component: (await import('../pages/door/door-part.tsx')).DoorPart }),
  },
  {
    path: 'verify',
    title: 'Verify',
    icon: 'verify',
    needs: [],
    open: true,
    load: async () => ({ Component: (await import('../pages/verify/verify-part.tsx')).VerifyPart }),
  },
];

/** The parts whose surfaces are configured. */
export const partsOf = (session: Session | undefined): readonly Part[] =>
  parts.filter(
    ({ needs }) =>
      needs.length === 0 ||
      needs.some(({ surface, listener }) => session?.surfaces.some((each) => each.id === surface && each[listener])),
  );
