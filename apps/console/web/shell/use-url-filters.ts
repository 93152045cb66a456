import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router';

/**
 * Filters in the URL, so that links and the back button work. Only the named parameters are read; an empty value counts
 * as absent. Setting one removes `cursor`, which belongs to the old filters.
 */
export function useUrlFilters<Name extends string>(
  names: readonly Name[],
): [Readonly<Partial<Record<Name, string>>>, (changes: Partial<Record<Name, string | null>>) => void] {
  const [search, setSearch] = useSearchParams();
  const key = names.map((name) => search.get(name) ?? '').join('\n');
  const filters = useMemo(() => {
    const found = names.map((name) => [name, search.get(name)] as const).filter(([, value]) => value);
    return Object.fromEntries(found) as Partial<Record<Name, string>>;
    // `key` covers all inputs: a new array with the same names does not change the filters.
  }, [key]);
  const change = useCallback(
    (changes: Partial<Record<Name, string | null>>) =>
      setSearch((before) => {
        const next = new URLSearchParams(before);
        next.delete('cursor');
        for (const [name, value] of Object.entries<string | null | undefined>(changes)) {
          if (value) next.set(name, value);
          else next.delete(name);
        }
        return next;
      }),
    [setSearch],
  );
  return [filters, change];
}
