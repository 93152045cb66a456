import { lazy, type ComponentType } from 'react';
import { HomePart } from '../pages/home/home-part.tsx';
import type { IconName } from './icons.tsx';
import type { Mine, PartName } from './mine.ts';
import * as texts from './texts.ts';

interface Part {
  readonly path: PartName;
  readonly title: string;
  readonly icon: IconName;
  /** Works without a session. */
  readonly open?: boolean;
  readonly load: () => Promise<{ default: ComponentType }>;
  /** What `load` loads, as an element. */
  readonly Page: ComponentType;
}

/** In menu order. */
const listed: readonly Omit<Part, 'Page'>[] = [
  {
    path: 'home',
    title: texts.home,
    icon: 'overview',
    // It only chooses a start page, which is loaded.
    load: async () => ({ default: HomePart }),
  },
  {
    path: 'networks',
    title: texts.networksAndKeys,
    icon: 'networks',
    load: async () => ({ default: (await import('../pages/networks/networks-part.tsx')).NetworksPart }),
  },
  {
    path: 'events',
    title: texts.dataView,
    icon: 'events',
    load: async () => ({ default: (await import('../pages/events/events-part.tsx')).EventsPart }),
  },
  {
    path: 'ledger',
    title: texts.ledgerExplorer,
    icon: 'ledger',
    load: async () => ({ default: (await import('../pages/ledger/ledger-part.tsx')).LedgerPart }),
  },
  {
    path: 'operations',
    title: texts.operations,
    icon: 'operations',
    load: async () => ({ default: (await import('../pages/operations/operations-part.tsx')).OperationsPart }),
  },
  {
    path: 'risks',
    title: texts.risks,
    icon: 'risks',
    load: async () => ({ default: (await import('../pages/risks/risks-part.tsx')).RisksPart }),
  },
  {
    path: 'cases',
    title: texts.cases,
    icon: 'cases',
    load: async () => ({ default: (await import('../pages/cases/cases-part.tsx')).CasesPart }),
  },
  {
    path: 'door',
    title: texts.door,
    icon: 'door',
    open: true,
    load: async () => ({ default: (await import('../pages/door/door-part.tsx')).DoorPart }),
  },
  {
    path: 'verify',
    title: texts.verify,
    icon: 'verify',
    open: true,
    load: async () => ({ default: (await import('../pages/verify/verify-part.tsx')).VerifyPart }),
  },
  {
    path: 'log',
    title: texts.publicLog,
    icon: 'ledger',
    open: true,
    load: async () => ({ default: (await import('../pages/log/log-part.tsx')).LogPart }),
  },
];

/** The parts of the console in menu order. Each is loaded on demand. */
export const parts: readonly Part[] = listed.map((part) => ({ ...part, Page: lazy(part.load) }));

/** The part that an address is in. */
export const partAt = (pathname: string): Part | undefined =>
  parts.find(({ path }) => pathname === `/${path}` || pathname.startsWith(`/${path}/`));

/** The parts in the menu: those offered to the person, and without a session those that need none. */
export const partsOf = (mine: Mine | undefined, isSignedIn: boolean): readonly Part[] =>
  parts.filter(({ path, open = false }) => (isSignedIn ? mine?.offers(path) === true : open));
