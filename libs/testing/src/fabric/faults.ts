/** The calls of a client. `deliver` covers all three block streams. */
export type CallKind = 'evaluate' | 'endorse' | 'submit' | 'commitStatus' | 'chaincodeEvents' | 'deliver';

/** A call as seen by a fault. `transactionId` and `chaincode` are empty if the call has none. */
export interface FaultyCall {
  readonly kind: CallKind;
  /** The url of the peer that was called. */
  readonly peer: string;
  readonly channel: string;
  readonly transactionId: string;
  readonly chaincode: string;
}

/** One entry of a gateway error's `details`. */
export interface ErrorDetail {
  readonly address: string;
  readonly mspId: string;
  readonly message: string;
}

/** Any gRPC status. */
export interface CallStatus {
  readonly code: number;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
}

/** A fault of a call. Only `delayMs` can be combined with another. */
export interface CallFault {
  /** Delays everything else. */
  readonly delayMs?: number;
  /** No answer is sent; the call is not executed ('before') or executed ('after'). */
  readonly drop?: 'before' | 'after';
  /** Returned instead of executing the call. A block stream ends with it. */
  readonly status?: CallStatus;
  /** Returned although the call was executed (ordered, simulated). */
  readonly statusAfter?: CallStatus;
}

interface FaultScope {
  /** Default: until it is removed. */
  readonly times?: number;
  /** Default: every call of the kind. */
  readonly when?: (call: FaultyCall) => boolean;
}

/** Overrides the validation result of a transaction or its reports. Codes are TxValidationCode. */
interface VerdictFault {
  readonly transactionId?: string;
  /** Default: 1, or unlimited for a given transaction id. */
  readonly times?: number;
  /** Code in the block, without writes, for the next transactions that would be VALID. */
  readonly commit?: number;
  /** Code reported by CommitStatus, whatever is in the block. */
  readonly commitStatus?: number;
  /** Code reported by block streams, whatever is in the block. */
  readonly blocks?: number;
}

interface ActiveFault {
  /** Number of calls it was applied to. */
  readonly struck: () => number;
  readonly remove: () => void;
}

export interface FaultRegister {
  /** A call gets the oldest matching fault. */
  inject(kind: CallKind, fault: CallFault, scope?: FaultScope): ActiveFault;
  judge(verdict: VerdictFault): ActiveFault;
  /** Removes all of them. */
  clear(): void;
}

interface Armed<What> {
  readonly what: What;
  remaining: number;
  struck: number;
}

type Verdict = 'commit' | 'commitStatus' | 'blocks';

/** The register as used by the peer's services. */
export interface Faults extends FaultRegister {
  /** The fault for this call, if any; counts it as applied. */
  strike(call: FaultyCall): CallFault | undefined;
  /** The code to report instead of the true one, if any. */
  verdict(kind: Verdict, transactionId: string): number | undefined;
}

export function faultRegister(): Faults {
  const calls: Armed<{ kind: CallKind; fault: CallFault; when: (call: FaultyCall) => boolean }>[] = [];
  const verdicts: Armed<VerdictFault>[] = [];
  return {
    inject: (kind, fault, { times = Number.POSITIVE_INFINITY, when = () => true }: FaultScope = {}) =>
      arm(calls, { kind, fault, when }, times),
    judge: (verdict) => arm(verdicts, verdict, verdict.times ?? (verdict.transactionId === undefined ? 1 : Infinity)),
    clear: () => {
      calls.length = 0;
      verdicts.length = 0;
    },
    strike: (call) => strike(calls, ({ kind, when }) => kind === call.kind && when(call))?.fault,
    verdict: (kind, transactionId) =>
      strike(
        verdicts,
        (verdict) =>
          verdict[kind] !== undefined &&
          (verdict.transactionId === undefined || verdict.transactionId === transactionId),
      )?.[kind],
  };
}

function arm<What>(list: Armed<What>[], what: What, times: number): ActiveFault {
  const armed: Armed<What> = { what, remaining: times, struck: 0 };
  list.push(armed);
  return {
    struck: () => armed.struck,
    remove: () => {
      const place = list.indexOf(armed);
      if (place !== -1) list.splice(place, 1);
    },
  };
}

function strike<What>(list: Armed<What>[], fits: (what: What) => boolean): What | undefined {
  const armed = list.find(({ what, remaining }) => remaining > 0 && fits(what));
  if (armed === undefined) return undefined;
  armed.remaining -= 1;
  armed.struck += 1;
  return armed.what;
}
