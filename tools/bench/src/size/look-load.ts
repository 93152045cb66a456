import type { SizedLoad } from './sized-surface.ts';

/** Somebody who looks: a listener, and what lets them in. */
export interface Looker {
  readonly origin: string;
  readonly token: string;
}

/** One who looks at these in turn, and waits for each answer. */
export function look(
  { origin, token }: Looker,
  what: string,
  { paths, ...more }: { readonly paths: readonly string[] } & Partial<Pick<SizedLoad, 'target' | 'requests'>>,
): SizedLoad {
  return {
    what,
    unit: 'ms',
    target: 'sizeRatio',
    requests: 100,
    ...more,
    load: {
      destinations: [{ port: Number(new URL(origin).port), path: '', headers: { Authorization: `Bearer ${token}` } }],
      requests: paths.map((path) => ({ method: 'GET', path })),
      firstRequest: 0,
    },
  };
}
