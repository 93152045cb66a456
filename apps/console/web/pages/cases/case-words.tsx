import type { ReactNode } from 'react';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import type { Says } from './case-api.ts';
import * as texts from './case-texts.ts';

const WORDS: Readonly<Record<string, readonly [word: string, tone: Tone]>> = {
  received: [texts.received, 'wait'],
  in_review: [texts.inReview, 'wait'],
  decided: [texts.decided, 'plain'],
  sealing: [texts.sealing, 'wait'],
  sealed: [texts.sealed, 'good'],
  withdrawn: [texts.withdrawn, 'plain'],
  expired: [texts.expired, 'bad'],
  approve: [texts.approve, 'good'],
  decline: [texts.decline, 'bad'],
  refer: [texts.refer, 'wait'],
  eligible: [texts.eligible, 'good'],
  ineligible: [texts.ineligible, 'bad'],
  pending: [texts.pending, 'wait'],
  unconfirmed: [texts.unconfirmed, 'wait'],
  suspended: [texts.suspended, 'bad'],
  revoked: [texts.revoked, 'bad'],
  allow: [texts.allow, 'good'],
  deny: [texts.deny, 'bad'],
  draft: [texts.draft, 'wait'],
  active: [texts.active, 'good'],
  retired: [texts.retired, 'plain'],
  closed: [texts.closed, 'plain'],
  open: [texts.open, 'good'],
  live: [texts.live, 'good'],
  ending: [texts.ending, 'wait'],
};

export const wordOf = (value: string): string => WORDS[value]?.[0] ?? value.replaceAll('_', ' ');

/** A state, outcome or verdict as word, shape and colour. */
export const State = ({ value }: { readonly value: string }): ReactNode => (
  <StateBadge tone={WORDS[value]?.[1] ?? 'plain'}>{wordOf(value)}</StateBadge>
);

const SAYS: Readonly<Record<Says, readonly [word: string, tone: Tone]>> = {
  holds: [texts.holds, 'good'],
  does_not_hold: [texts.doesNotHold, 'plain'],
  cannot_tell: [texts.cannotTell, 'wait'],
};

/** The result of a rule for a case. */
export const RuleSays = ({ says }: { readonly says: Says }): ReactNode => (
  <StateBadge tone={SAYS[says][1]}>{SAYS[says][0]}</StateBadge>
);
