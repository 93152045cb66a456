import { BoundedMap } from '@sealgate/api-keys';

/** The highest version of each record that this process has seen: what is older now was put back by somebody. */
export interface SeenVersions {
  /** A moment in the order of questions: to be taken before a question is sent. */
  mark(): number;
  /**
   * The highest version that was seen before the mark; 0 for none. An answer may cross one that was asked later, and being
   * older than that is no fault of it.
   */
  highestBefore(mark: number, name: string): number;
  /** The highest version that was seen at all; undefined for none. */
  highest(name: string): number | undefined;
  /** Takes note of a version that was believed. */
  see(name: string, version: number): void;
  /** Every name, with the highest version of it. */
  all(): { readonly name: string; readonly version: number }[];
}

/** Bounded: past `most` names the one seen first is forgotten. The history in the database is compared with as well. */
export function seenVersions(most: number): SeenVersions {
  const versions = new BoundedMap<string, { readonly version: number; readonly at: number }>(most);
  let order = 0;
  return {
    mark: () => (order += 1),
    highestBefore(mark, name) {
      const known = versions.get(name);
      return known === undefined || known.at >= mark ? 0 : known.version;
    },
    highest: (name) => versions.get(name)?.version,
    see(name, version) {
      const known = versions.get(name);
      if (known !== undefined && known.version >= version) return;
      versions.set(name, { version, at: order });
    },
    all: () => [...versions].map(([name, { version }]) => ({ name, version })),
  };
}
