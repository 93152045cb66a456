import type { ComponentType } from 'react';
import type { IconName } from './icons.tsx';
import type { Mine, PartName } from './mine.ts';

interface Part {
  readonly path: PartName;
  readonly title: string;
  readonly icon: IconName;
  /** Works without a session. */
  readonly open?: boolean;
  readonly load: () => Promise<{ Component: ComponentType }>;
}

/** The parts of the console in menu order. Each is loaded on demand. */
export const parts: readonly Part[] = [
  {
    path: 'home',
    title: 'Home',
    icon: 'overview',
    load: async () => ({ Component: (await import('../pages/home/home-part.tsx')).HomePart }),
  },
  {
    path: 'networks',
    title: 'Networks and keys',
    icon: 'networks',
    load: async () => ({ Component: (await import('../pages/networks/networks-part.tsx')).NetworksPart }),
  },
  {
    path: 'events',
    title: 'Data view',
    icon: 'events',
    load: async () => ({ Component: (await import('../pages/events/events-part.tsx')).EventsPart }),
  },
  {
    path: 'ledger',
    title: 'Ledger explorer',
    icon: 'ledger',
    load: async () => ({ Component: (await import('../pages/ledger/ledger-part.tsx')).LedgerPart }),
  },
  {
    path: 'risks',
    title: 'Risks',
    icon: 'risks',
    load: async () => ({ Component: (await import('../pages/risks/risks-part.tsx')).RisksPart }),
  },
  {
    path: 'cases',
    title: 'Cases',
    icon: 'cases',
    load: async () => ({ Component: (await import('../pages/cases/cases-part.tsx')).CasesPart }),
  },
  {
    path: 'door',
    title: 'Door',
    icon: 'door',
    open: true,
    load: async () => ({ Component: (await import('../pages/door/door-part.tsx')).DoorPart }),
  },
  {
    path: 'verify',
    title: 'Verify',
    icon: 'verify',
    open: true,
    load: async () => ({ Component: (await import('../pages/verify/verify-part.tsx')).VerifyPart }),
  },
  {
    path: 'log',
    title: 'Public log',
    icon: 'ledger',
    open: true,
    load: async () => ({ Component: (await import('../pages/log/log-part.tsx')).LogPart }),
  },
];

/** The parts in the menu: those offered to the person, and without a session those that need none. */
export const partsOf = (mine: Mine | undefined, isSignedIn: boolean): readonly Part[] =>
  parts.filter(({ path, open = false }) => (isSignedIn ? mine?.offers(path) === true : open));
