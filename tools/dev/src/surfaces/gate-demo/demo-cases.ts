import { hash } from 'node:crypto';
import { pick, spread } from '../in-parallel.ts';

export const VENUES = [
  { venue_id: 'harbour-hall', name: 'Harbour Hall' },
  { venue_id: 'north-quay', name: 'North Quay gatehouse' },
  { venue_id: 'cold-store', name: 'Cold store, dock 4' },
  { venue_id: 'rail-terminal', name: 'Rail terminal' },
  { venue_id: 'ferry-pier', name: 'Ferry pier (closed)' },
] as const;

const OPEN = VENUES.slice(0, -1);

/** How far a case goes: see the states of surface B. */
export type Ending = 'received' | 'attached' | 'referred' | 'approved' | 'declined' | 'sealed' | 'withdrawn';

export interface DemoCase {
  readonly subject: string;
  readonly order: object;
  readonly attachments: readonly object[];
  readonly ending: Ending;
  /** Besides the policy version; undefined where its rules decide alone. */
  readonly outcome?: object;
}

const CASES = 48;
const DAY_MS = 86_400_000;
const ENDINGS: readonly Ending[] = [
  ...(['sealed', 'received', 'sealed', 'attached', 'sealed', 'declined'] as const),
  ...(['sealed', 'referred', 'sealed', 'approved', 'withdrawn', 'sealed'] as const),
];
const COMPANIES = ['Nordlicht Logistik', 'Balticline', 'Rhone Transports', 'Kuehlkette Nord'] as const;
const TASKS = ['driver', 'forklift operator', 'customs agent', 'technician', 'cleaner'] as const;

/**
 * Drivers and crews who want to enter; some bring no passport, so that a person has to look.
 * @param from milliseconds since the epoch: approvals end days after it.
 */
export function demoCases(from: number): DemoCase[] {
  return Array.from({ length: CASES }, (_, index) => {
    const ending = pick(ENDINGS, index);
    const subject = subjectOf(index);
    const labels =
      ending === 'referred' ? ['driving licence'] : ['passport', pick(['driving licence', 'work permit'], index)];
    const venues = index % 4 === 0 ? ['*'] : [pick(OPEN, index).venue_id, pick(OPEN, index + 1).venue_id];
    return {
      ...{ subject, ending },
      order: {
        ...{ subject_ref: subject, venue_ids: venues, external_ref: `HR-${20_260 + index}` },
        metadata: { company: pick(COMPANIES, index), task: pick(TASKS, spread(index, 50)) },
      },
      attachments: labels.map((label) => ({
        ...{ kind: 'vault_ref', ref: `vault/${subject}/${label.replaceAll(' ', '-')}`, label },
        ...{ sha256: hash('sha256', `demo ${subject} ${label}`, 'hex'), media_type: 'application/pdf' },
        size_bytes: 40_000 + spread(index, 900_000),
      })),
      ...(ending === 'declined'
        ? { outcome: { decision: 'decline', reason_codes: [pick(['DOCUMENT_EXPIRED', 'NAME_MISMATCH'], index)] } }
        : {}),
      ...(ending === 'sealed' && index % 3 === 0
        ? { outcome: { valid_until: new Date(from + (2 + spread(index, 60)) * DAY_MS).toISOString() } }
        : {}),
    };
  });
}

const subjectOf = (index: number): string => `subj_crew_${String(index + 1).padStart(3, '0')}`;

/** What operators did since: to subjects whose approval is sealed. */
export const AFTERWARDS = [
  { subject: subjectOf(0), action: 'suspend', reason: 'The badge was reported lost.' },
  { subject: subjectOf(2), action: 'suspend', reason: 'Safety training is due.' },
  { subject: subjectOf(2), action: 'reinstate', reason: 'Safety training was passed.' },
  { subject: subjectOf(4), action: 'revoke', reason: 'The contract has ended.' },
] as const;

function whoStands(index: number): string {
  if (index % 31 === 30) return `subj_stranger_${index}`;
  return index % 15 === 7 ? pick(AFTERWARDS, index).subject : subjectOf(spread(index, CASES));
}

/** Who stood at which door. */
export function demoChecks(): { subject_ref: string; venue_id: string }[] {
  return Array.from({ length: 120 }, (_, index) => ({
    subject_ref: whoStands(index),
    venue_id: index % 41 === 40 ? 'no-such-door' : pick(VENUES, spread(index * 5 + 1, 15)).venue_id,
  }));
}
