import type { Schemas } from '@sealgate/client';
import { formatBytes, formatSpan } from '../../shell/formats.ts';

export type Refused = Schemas['ingestGatewayAdmin']['RefusedDelivery'];
type Reason = Schemas['ingestGatewayAdmin']['RefusalReason'];
type About = Pick<Refused, 'header' | 'skewSeconds' | 'pointer' | 'detail' | 'mediaType' | 'bodyBytes'>;

/** Where a reason is mended: settings, channels, tolerance or secrets of the source, its network, or at the sender. */
type Mended = 'settings' | 'channels' | 'tolerance' | 'secrets' | 'network' | 'sender';

interface ReasonWords {
  readonly title: string;
  readonly what: (about: About) => string;
  readonly todo: string;
  readonly mended: Mended;
}

const named = (header: string | null): string =>
  header === null ? 'A header of the signature' : `The header ${header}`;
const placed = ({ pointer, detail }: About): string => (pointer === null ? detail : `At ${pointer}: ${detail}`);

function skewInWords({ skewSeconds }: About): string {
  if (skewSeconds === null) return 'Its signature is right, but its timestamp is too far from our clock.';
  const side = skewSeconds > 0 ? 'ahead of' : 'behind';
  return `Its signature is right, but its timestamp is ${formatSpan(skewSeconds)} ${side} our clock.`;
}

/** What each reason of a refusal means, and what to do about it. */
export const REASON_WORDS: Readonly<Record<Reason, ReasonWords>> = {
  'header-missing': {
    title: 'A header is missing',
    what: ({ header }) => `${named(header)} is missing, so the signature cannot be checked.`,
    todo: 'The sender signs in another way than this source expects, or a proxy removes the header. Compare the scheme, and the name of the header.',
    mended: 'settings',
  },
  'header-malformed': {
    title: 'A header is malformed',
    what: ({ header }) => `${named(header)} has another form than the scheme of this source.`,
    todo: 'Compare prefix, encoding and list form of the signature with what the sender documents.',
    mended: 'settings',
  },
  'no-matching-secret': {
    title: 'Signature of another secret',
    what: () => 'It is signed, but with none of the secrets of this source; or it is not from its sender.',
    todo: 'Compare the secret at both ends. If the sender has a new one, add it here; what was kept can then be processed again.',
    mended: 'secrets',
  },
  'clock-skew': {
    title: 'Clock skew',
    what: skewInWords,
    todo: 'Correct the clock, yours or theirs. For deliveries that came late, tolerate their timestamps for a while, process them again, and set the tolerance back.',
    mended: 'tolerance',
  },
  'too-large': {
    title: 'Too large',
    what: ({ bodyBytes }) =>
      bodyBytes === null
        ? 'It is larger than this source accepts.'
        : `It has ${formatBytes(bodyBytes)}, more than this source accepts.`,
    todo: 'Raise the largest body of this source, or let the sender send less.',
    mended: 'settings',
  },
  'media-type': {
    title: 'Unsupported media type',
    what: ({ mediaType }) =>
      mediaType === null
        ? 'It has no Content-Type.'
        : `Its Content-Type is ${mediaType}, or it has a Content-Encoding.`,
    todo: 'Set JSON, a form or text in UTF-8 without compression at the sender.',
    mended: 'sender',
  },
  'not-json': {
    title: 'The body is no JSON',
    what: placed,
    todo: 'Tell the sender: what it signed cannot be read by anybody.',
    mended: 'sender',
  },
  configuration: {
    title: 'A configured place is missing',
    what: placed,
    todo: 'Correct where this source takes the id, type or owner from.',
    mended: 'settings',
  },
  'type-not-allowed': {
    title: 'Type not allowed',
    what: () => 'Its type is not among those that this source may deliver.',
    todo: 'Allow the type at this source, or stop it at the sender.',
    mended: 'settings',
  },
  'missing-channel': {
    title: 'Channel missing',
    what: () => 'This source writes to a channel that its network does not have.',
    todo: 'Choose channels of the network at this source.',
    mended: 'channels',
  },
  'over-limit': {
    title: 'Over the rate limit',
    what: () => 'The rate limit of the source or of its network was used up. The sender repeats it.',
    todo: 'If it happens often, raise the limits of source and network.',
    mended: 'network',
  },
  'delivery-id-reused': {
    title: 'Delivery id used before',
    what: () =>
      'A delivery of this id with other bytes was written before. It was answered 200, and nothing was written.',
    todo: 'If the sender gives one id to several deliveries, take the id from another place.',
    mended: 'settings',
  },
  'record-id-taken': {
    title: 'Record id taken',
    what: () => 'A record of this id with other content exists. It was answered 200, and nothing was written.',
    todo: 'If the place of the record id is not unique, choose another one.',
    mended: 'settings',
  },
};

const CODE_WORDS: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'Refused in a flood, without a look at the signature',
  UNAVAILABLE: 'Not served: the service was not available',
  OVERLOADED: 'Not served: too much at once',
  LEDGER_UNAVAILABLE: 'Not served: the ledger was out of reach',
  OUTCOME_UNKNOWN: 'Outcome not known; the sender repeats it',
  IDEMPOTENCY_IN_PROGRESS: 'The same delivery was still being written',
};

export const isReason = (reason: string | null): reason is Reason =>
  reason !== null && Object.hasOwn(REASON_WORDS, reason);

/** The words of a reason; undefined for none. */
export const wordsOf = (reason: string | null): ReasonWords | undefined =>
  isReason(reason) ? REASON_WORDS[reason] : undefined;

/** A refusal in a few words, by its reason or, where there is none, its code. */
export const titleOf = (reason: string | null, code: string | null): string =>
  wordsOf(reason)?.title ?? CODE_WORDS[code ?? ''] ?? code ?? '';

const SIGNATURES: Readonly<Partial<Record<Reason, string>>> = {
  'header-missing': 'not checked: a header is missing',
  'header-malformed': 'not checked: a header is malformed',
  'no-matching-secret': 'of none of the secrets',
  'clock-skew': 'right, with a timestamp that is out of tolerance',
};

/** What is known of the signature of a refused delivery. */
export const signatureInWords = ({ authentic, reason }: Pick<Refused, 'authentic' | 'reason'>): string =>
  authentic ? 'verified' : (SIGNATURES[reason] ?? 'not verified');

/** The longest tolerance that a source takes. */
const MOST_SECONDS = 86_400;
const MINUTE_SECONDS = 60;

/** The tolerance, in whole minutes, with which a timestamp this far off is accepted; undefined where none is. */
export function toleranceFor(skewSeconds: number): number | undefined {
  // The skew is rounded, and one second more is certainly enough.
  const seconds = Math.ceil((Math.abs(skewSeconds) + 1) / MINUTE_SECONDS) * MINUTE_SECONDS;
  return seconds > MOST_SECONDS ? undefined : seconds;
}

export interface Acts {
  readonly edit: boolean;
  readonly secrets: boolean;
  readonly limits: boolean;
  /** The tolerance with which the delivery would be accepted. */
  readonly tolerate?: number;
  readonly again: boolean;
}

type State = Pick<Refused, 'at' | 'reason' | 'code' | 'skewSeconds' | 'keptUntil' | 'processedAt' | 'outcome'>;

/** Where it is mended, as far as is known: processed again, it may have met another fault than its reason. */
const mendedAt = ({ reason, code, outcome }: State): Mended | 'unknown' =>
  outcome === null || outcome === code ? REASON_WORDS[reason].mended : 'unknown';

const EDITED: readonly (Mended | 'unknown')[] = ['settings', 'channels', 'network', 'unknown'];
/** What may have changed without its source. */
const ELSEWHERE: readonly (Mended | 'unknown')[] = ['channels', 'network', 'unknown'];

/** The acts that can mend a refused delivery; processing it again before anything was changed would end the same. */
export function actsFor(
  refused: State,
  source: { readonly changedAt: string; readonly toleranceSeconds: number },
): Acts {
  const mended = mendedAt(refused);
  const isKept = refused.keptUntil !== null;
  const isLate = mended === 'tolerance';
  const needed = isLate && isKept ? toleranceFor(refused.skewSeconds ?? 0) : undefined;
  const isTolerated = needed !== undefined && needed <= source.toleranceSeconds;
  const isChanged = Date.parse(source.changedAt) > Date.parse(refused.processedAt ?? refused.at);
  return {
    edit: EDITED.includes(mended) || (isLate && !isKept),
    secrets: mended === 'secrets' || mended === 'unknown',
    limits: mended === 'network',
    ...(needed !== undefined && !isTolerated && { tolerate: needed }),
    again: isKept && mended !== 'sender' && (isChanged || isTolerated || ELSEWHERE.includes(mended)),
  };
}

export const reasonChoices = Object.entries(REASON_WORDS).map(([value, { title }]) => ({ value, label: title }));
