import type { GatewayError } from '@hyperledger/fabric-gateway';
import { connectionReason, type FabricReason } from './fabric-reasons.ts';

/** gRPC status codes (https://grpc.io/docs/guides/status-codes/) handled here. */
const CANCELLED = 1;
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/**
 * Meaning of an Evaluate or Endorse error. Neither orders anything, so nothing was written in any case.
 * - refused: the contract refused
 * - overloaded: reduce concurrency
 * - away: this peer does not answer; another one, or the same one later, may
 * - elsewhere: this peer answers but cannot serve this channel and contract; another one, or the same one later, may
 * - again: a new proposal may succeed
 * - misconfigured: asking this peer again will not help; another one may be configured differently
 */
export type AskVerdict =
  | { readonly kind: 'refused' | 'overloaded'; readonly message: string }
  | { readonly kind: 'misconfigured' | 'away'; readonly message: string; readonly reason: FabricReason }
  | {
      readonly kind: 'elsewhere' | 'again';
      readonly message: string;
      readonly reason: 'contract_away' | 'endorsers_away' | 'peers_behind';
    };

/**
 * Meaning of a Submit error.
 * - unsent: the peer did not process it; the same envelope may be resent at once
 * - refused: the orderer rejected it
 * - unknown: it may have been ordered
 */
type SendVerdict = { readonly kind: 'unsent' | 'unknown' } | { readonly kind: 'refused'; readonly message: string };

/** A peer's answer when its concurrency limit is reached, before it processes a call; code 2 or 8. */
const OVERLOAD = /too many requests for \//;
/** `chaincode response <status>, <message>`: the message of the contract, as passed on by the peer. */
const CONTRACT_SAID = /chaincode response \d+, ([\s\S]*)$/;
/** How Fabric's contract APIs (Node, Go) report an unknown contract or transaction, before they run anything. */
const NO_FUNCTION =
  /^(Error: )?(You've asked to invoke a function that does not exist|Contract name is not known|Contract not found with name|Function \S+ not found in contract)/;
const DENIED = /access denied/;
/** Endorsers are away, or unknown if the call names their organisations. */
const ENDORSERS_AWAY =
  /no peer combination can satisfy|not installed on sufficient peers|no principal sets remained|no endorsers found|failed to find any endorsing peers for org/;

/** Evaluate reports it with code 14, as if the peer were away. */
const NO_CHANNEL =
  /(failed to get config for channel|could not get last config for channel|channel '?[^ ]+'? not found)/;
const NO_CONTRACT = /no metadata was found for chaincode|no peers available to evaluate chaincode/i;

/** A peer's answer to a Submit that no orderer, or on BFT no quorum of them, accepted: the peer itself is available. */
const ORDERERS_AWAY = /no orderers could|insufficient number of orderers/;

type Failure = Pick<GatewayError, 'code' | 'message' | 'details'>;

export function askVerdict(error: Failure): AskVerdict {
  const texts = [...error.details.map(({ message }) => message), error.message];
  const said = texts.map((text) => CONTRACT_SAID.exec(text)?.[1]).find((message) => message !== undefined);
  if (said !== undefined) return contractVerdict(said);
  const message = texts[0]!;
  if (isOverload(error)) return { kind: 'overloaded', message };
  const known = knownReason(error, texts);
  if (known === 'endorsers_away') return { kind: 'elsewhere', message, reason: known };
  if (known !== undefined) return { kind: 'misconfigured', message, reason: known };
  switch (error.code) {
    case FAILED_PRECONDITION:
      return {
        kind: 'misconfigured',
        message,
        reason: NO_CONTRACT.test(message) ? 'contract_missing' : 'call_refused',
      };
    case UNIMPLEMENTED:
      return { kind: 'misconfigured', message, reason: 'not_a_gateway' };
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
      return { kind: 'misconfigured', message, reason: 'identity_refused' };
    case INVALID_ARGUMENT:
      return { kind: 'misconfigured', message, reason: 'call_refused' };
    case UNAVAILABLE:
    case DEADLINE_EXCEEDED:
    case CANCELLED:
      return { kind: 'away', message, reason: connectionReason(message) };
    // ABORTED: endorsers disagreed, or a chaincode process is down.
    default:
      return { kind: 'again', message, reason: 'contract_away' };
  }
}

/** What the message says more exactly than the code; undefined: nothing. */
function knownReason({ code, message }: Failure, texts: readonly string[]): FabricReason | undefined {
  if (texts.some((text) => DENIED.test(text))) return 'identity_refused';
  if (NO_CHANNEL.test(texts[0]!)) return 'channel_missing';
  const mayBeAway = code === FAILED_PRECONDITION || code === UNAVAILABLE;
  return mayBeAway && ENDORSERS_AWAY.test(message) ? 'endorsers_away' : undefined;
}

function contractVerdict(message: string): AskVerdict {
  return NO_FUNCTION.test(message)
    ? { kind: 'misconfigured', message, reason: 'function_missing' }
    : { kind: 'refused', message };
}

export function sendVerdict(error: Failure): SendVerdict {
  if (isOverload(error)) return { kind: 'unsent' };
  switch (error.code) {
    // An orderer answered 4xx; the gateway passes it on as ABORTED and asks no other orderer.
    case ABORTED:
    case INVALID_ARGUMENT:
    case FAILED_PRECONDITION:
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
    case UNIMPLEMENTED:
      return { kind: 'refused', message: error.details[0]?.message ?? error.message };
    default:
      return { kind: 'unknown' };
  }
}

export function isOrderersAway({ message }: Failure): boolean {
  return ORDERERS_AWAY.test(message);
}

function isOverload({ code, message }: Failure): boolean {
  return (code === UNKNOWN || code === RESOURCE_EXHAUSTED) && OVERLOAD.test(message);
}
