import type { Schemas } from '@sealgate/client';
import type { Tone } from '../../shell/state-badge.tsx';
import { formatNumber } from '../../shell/formats.ts';
import * as texts from './texts.ts';

export type SecretsReport = Schemas['ingestGatewayAdmin']['SecretsReport'];
type Secret = SecretsReport['secrets'][number];
type Accepted = SecretsReport['accepted'][number];

export interface Said {
  readonly tone: Tone;
  readonly text: string;
}

const processes = (count: number): string => texts.processes(count, formatNumber(count));

/** Where a server secret is in its rotation: accepted, in use, replaced, and no longer needed. */
export function secretState({ makes, checks, unaware, lastMadeAt, needs }: Secret): Said {
  const isNeeded = makes > 0 || needs.length > 0;
  if (unaware > 0 && isNeeded) return { tone: 'bad', text: texts.missingIn(processes(unaware)) };
  if (makes > 0 && checks === 0) return { tone: 'good', text: texts.inUse };
  if (makes > 0) return { tone: 'wait', text: texts.inUseByOf(processes(makes), formatNumber(makes + checks)) };
  if (lastMadeAt === null) return { tone: 'plain', text: texts.acceptedNotUsedYet };
  if (needs.length > 0) return { tone: 'wait', text: texts.replacedStillNeeded };
  return { tone: 'plain', text: texts.replacedCanBeRemoved };
}

/** Whether every process accepts a token or key. */
export function acceptedState({ accepts, unaware, lastUsedAt }: Accepted): Said {
  if (unaware === 0) return { tone: 'good', text: texts.accepted };
  const text = texts.acceptedByOf(processes(accepts), formatNumber(accepts + unaware));
  return { tone: lastUsedAt === null ? 'wait' : 'bad', text };
}
