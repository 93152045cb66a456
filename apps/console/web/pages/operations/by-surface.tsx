import type { ReactNode } from 'react';
import { Select } from '@mantine/core';
import { useNavigate, useSearchParams } from 'react-router';
import { useMine } from '../../shell/mine.ts';
import type { SurfaceId } from '../../shell/session.ts';
import { surfaceNames } from '../../shell/surface-names.ts';
import type { LedgerSurface } from '../ledger/ledger-source.ts';
import * as texts from './texts.ts';

const LEDGERS: readonly LedgerSurface[] = ['ledger-peer', 'ingest-gateway'];

/** The surfaces whose admin listener the person may read. */
export const useReadable = (): readonly SurfaceId[] => useMine().mine?.readable ?? [];

/** Those of them that administer the ledger. */
export function useReadableLedgers(): readonly LedgerSurface[] {
  const readable = useReadable();
  return LEDGERS.filter((id) => readable.includes(id));
}

/** The surface in the address (`by`), else the first of those. */
export function useSurface<Id extends SurfaceId>(of: readonly Id[]): Id | undefined {
  const [search] = useSearchParams();
  return of.find((id) => id === search.get('by')) ?? of[0];
}

/** Chooses the surface of a page. What was filtered belongs to the one before. */
export function SurfacePicker({
  of,
  value,
}: {
  readonly of: readonly SurfaceId[];
  readonly value: SurfaceId;
}): ReactNode {
  const navigate = useNavigate();
  if (of.length < 2) return null;
  return (
    <Select
      label={texts.service}
      w={200}
      allowDeselect={false}
      data={of.map((id) => ({ value: id, label: surfaceNames[id].title }))}
      value={value}
      onChange={(by) => by !== null && void navigate({ search: `?by=${by}` })}
    />
  );
}
