import type { ReactNode } from 'react';
import type { StepStatus } from '@sealgate/verify/checks';
import { StateBadge } from '../../shell/state-badge.tsx';

/** Whether a step holds, as word, shape and colour. */
export function StepMark({ status }: { status: StepStatus }): ReactNode {
  if (status === 'ok') return <StateBadge tone="good">Holds</StateBadge>;
  if (status === 'failed') return <StateBadge tone="bad">Fails</StateBadge>;
  return <StateBadge tone="wait">Not checked</StateBadge>;
}
