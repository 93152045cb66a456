import type { Schemas } from '@sealgate/client';
import type { Tone } from '../../shell/state-badge.tsx';
import { formatNumber } from '../../shell/formats.ts';

export type SecretsReport = Schemas['ingestGatewayAdmin']['SecretsReport'];
type Secret = SecretsReport['secrets'][number];
type Accepted = SecretsReport['accepted'][number];

export interface Said {
  readonly tone: Tone;
  readonly text: string;
}

const processes = (count: number): string => (count === 1 ? '1 process' : `${formatNumber(count)} processes`);

/** Where a server secret is in its rotation: accepted, in use, replaced, and no longer needed. */
export function secretState({ makes, checks, unaware, lastMadeAt, needs }: Secret): Said {
  const isNeeded = makes > 0 || needs.length > 0;
  if (unaware > 0 && isNeeded) return { tone: 'bad', text: `Missing in ${processes(unaware)}` };
  if (makes > 0 && checks === 0) return { tone: 'good', text: 'In use' };
  if (makes > 0) return { tone: 'wait', text: `In use by ${processes(makes)} of ${formatNumber(makes + checks)}` };
  if (lastMadeAt === null) return { tone: 'plain', text: 'Accepted, not used yet' };
  if (needs.length > 0) return { tone: 'wait', text: 'Replaced, still needed' };
  return { tone: 'plain', text: 'Replaced, can be removed' };
}

/** Whether every process accepts a token or key. */
export function acceptedState({ accepts, unaware, lastUsedAt }: Accepted): Said {
  if (unaware === 0) return { tone: 'good', text: 'Accepted' };
  const text = `Accepted by ${processes(accepts)} of ${formatNumber(accepts + unaware)}`;
  return { tone: lastUsedAt === null ? 'wait' : 'bad', text };
}
