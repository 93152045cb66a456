import type { SiteProvider } from '../provider/site-provider.ts';
import type { Site } from '../site.ts';
import { last, onLinux, type FaultKind } from './fault.ts';

const NONE = 'no console runs, so nobody signs in';

/** Breaks the identity provider. Alone, so that what people are told is the work of this fault. */
const fault = (
  name: string,
  {
    missing,
    begin,
    end,
  }: Pick<FaultKind, 'missing'> & {
    readonly begin: (provider: SiteProvider) => unknown;
    readonly end: (provider: SiteProvider) => unknown;
  },
): FaultKind => ({
  name: `provider-${name}`,
  isAlone: true,
  missing: (site: Site) => (site.provider === undefined ? NONE : missing?.(site)),
  async run({ site: { provider } }, random) {
    if (provider === undefined) throw new Error(NONE);
    await begin(provider);
    await last(random, 2_000, 8_000).finally(() => end(provider));
    return { hit: 'provider', did: {} };
  },
});

export const providerFaults: readonly FaultKind[] = [
  fault('away', { begin: (provider) => provider.kill(), end: (provider) => provider.start() }),
  fault('frozen', {
    missing: onLinux,
    begin: ({ pid }) => process.kill(pid, 'SIGSTOP'),
    end: ({ pid }) => process.kill(pid, 'SIGCONT'),
  }),
];
