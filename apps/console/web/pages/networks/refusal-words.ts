import type { Schemas } from '@sealgate/client';
import { formatBytes, formatSpan } from '../../shell/formats.ts';
import * as texts from './refusal-texts.ts';

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
  header === null ? texts.aHeaderOfTheSignature : texts.headerNamed(header);
const placed = ({ pointer, detail }: About): string =>
  pointer === null ? detail : texts.placeOfFault(pointer, detail);

function skewInWords({ skewSeconds }: About): string {
  if (skewSeconds === null) return texts.clockIsOff;
  const span = formatSpan(skewSeconds);
  return skewSeconds > 0 ? texts.clockIsAhead(span) : texts.clockIsBehind(span);
}

/** What each reason of a refusal means, and what to do about it. */
export const REASON_WORDS: Readonly<Record<Reason, ReasonWords>> = {
  'header-missing': {
    title: texts.aHeaderIsMissing,
    what: ({ header }) => texts.headerMissingWhat(named(header)),
    todo: texts.headerMissingTodo,
    mended: 'settings',
  },
  'header-malformed': {
    title: texts.aHeaderIsMalformed,
    what: ({ header }) => texts.headerMalformedWhat(named(header)),
    todo: texts.headerMalformedTodo,
    mended: 'settings',
  },
  'no-matching-secret': {
    title: texts.signatureOfAnotherSecret,
    what: () => texts.noMatchingSecretWhat,
    todo: texts.noMatchingSecretTodo,
    mended: 'secrets',
  },
  'clock-skew': {
    title: texts.clockSkew,
    what: skewInWords,
    todo: texts.clockSkewTodo,
    mended: 'tolerance',
  },
  'too-large': {
    title: texts.tooLarge,
    what: ({ bodyBytes }) =>
      bodyBytes === null ? texts.tooLargeWhat : texts.tooLargeWithBytes(formatBytes(bodyBytes)),
    todo: texts.tooLargeTodo,
    mended: 'settings',
  },
  'media-type': {
    title: texts.unsupportedMediaType,
    what: ({ mediaType }) => (mediaType === null ? texts.itHasNoContentType : texts.mediaTypeWhat(mediaType)),
    todo: texts.mediaTypeTodo,
    mended: 'sender',
  },
  'not-json': {
    title: texts.theBodyIsNoJson,
    what: placed,
    todo: texts.notJsonTodo,
    mended: 'sender',
  },
  configuration: {
    title: texts.aConfiguredPlaceIsMissing,
    what: placed,
    todo: texts.configurationTodo,
    mended: 'settings',
  },
  'type-not-allowed': {
    title: texts.typeNotAllowed,
    what: () => texts.typeNotAllowedWhat,
    todo: texts.typeNotAllowedTodo,
    mended: 'settings',
  },
  'missing-channel': {
    title: texts.channelMissing,
    what: () => texts.missingChannelWhat,
    todo: texts.missingChannelTodo,
    mended: 'channels',
  },
  'over-limit': {
    title: texts.overTheRateLimit,
    what: () => texts.overLimitWhat,
    todo: texts.overLimitTodo,
    mended: 'network',
  },
  'delivery-id-reused': {
    title: texts.deliveryIdUsedBefore,
    what: () => texts.deliveryIdReusedWhat,
    todo: texts.deliveryIdReusedTodo,
    mended: 'settings',
  },
  'record-id-taken': {
    title: texts.recordIdTaken,
    what: () => texts.recordIdTakenWhat,
    todo: texts.recordIdTakenTodo,
    mended: 'settings',
  },
};

const CODE_WORDS: Readonly<Record<string, string>> = {
  RATE_LIMITED: texts.refusedInAFlood,
  UNAVAILABLE: texts.notServedUnavailable,
  OVERLOADED: texts.notServedOverloaded,
  LEDGER_UNAVAILABLE: texts.notServedWithoutLedger,
  OUTCOME_UNKNOWN: texts.outcomeNotKnown,
  IDEMPOTENCY_IN_PROGRESS: texts.sameDeliveryInProgress,
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
  'header-missing': texts.notCheckedHeaderMissing,
  'header-malformed': texts.notCheckedHeaderMalformed,
  'no-matching-secret': texts.ofNoneOfTheSecrets,
  'clock-skew': texts.rightOutOfTolerance,
};

/** What is known of the signature of a refused delivery. */
export const signatureInWords = ({ authentic, reason }: Pick<Refused, 'authentic' | 'reason'>): string =>
  authentic ? texts.verified : (SIGNATURES[reason] ?? texts.notVerified);

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
