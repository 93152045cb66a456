import type { ReactNode } from 'react';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import type { Says } from './case-api.ts';

const WORDS: Readonly<Record<string, readonly [word: string, tone: Tone]>> = {
  received: ['Received', 'wait'],
  in_review: ['In review', 'wait'],
  decided: ['Decided', 'plain'],
  sealing: ['Sealing', 'wait'],
  sealed: ['Sealed', 'good'],
  withdrawn: ['Withdrawn', 'plain'],
  expired: ['Expired', 'bad'],
  approve: ['Approve', 'good'],
  decline: ['Decline', 'bad'],
  refer: ['Refer', 'wait'],
  eligible: ['Eligible', 'good'],
  ineligible: ['Ineligible', 'bad'],
  pending: ['Pending', 'wait'],
  unconfirmed: ['Unconfirmed', 'wait'],
  suspended: ['Suspended', 'bad'],
  revoked: ['Revoked', 'bad'],
  allow: ['Allow', 'good'],
  deny: ['Deny', 'bad'],
  draft: ['Draft', 'wait'],
  active: ['Active', 'good'],
  retired: ['Retired', 'plain'],
  closed: ['Closed', 'plain'],
  open: ['Open', 'good'],
  live: ['Live', 'good'],
  ending: ['Ending', 'wait'],
};

export const wordOf = (value: string): string => WORDS[value]?.[0] ?? value.replaceAll('_', ' ');

/** A state, outcome or verdict as word, shape and colour. */
export const State = ({ value }: { readonly value: string }): ReactNode => (
  <StateBadge tone={WORDS[value]?.[1] ?? 'plain'}>{wordOf(value)}</StateBadge>
);

const SAYS: Readonly<Record<Says, readonly [word: string, tone: Tone]>> = {
  holds: ['Holds', 'good'],
  does_not_hold: ['Does not hold', 'plain'],
  cannot_tell: ['Cannot tell', 'wait'],
};

/** The result of a rule for a case. */
export const RuleSays = ({ says }: { readonly says: Says }): ReactNode => (
  <StateBadge tone={SAYS[says][1]}>{SAYS[says][0]}</StateBadge>
);
