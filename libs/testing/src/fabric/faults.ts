/** The calls that a client makes. `deliver` is each of the three block streams. */
export type CallKind = 'evaluate' | 'endorse' | 'submit' | 'commitStatus' | 'chaincodeEvents' | 'deliver';

/** A call as a fault may look at it. `transactionId` and `chaincode` are empty where the call names none. */
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

/** What goes wrong with a call. Only `delayMs` goes together with another. */
export interface CallFault {
  /** Waits before anything else. */
  readonly delayMs?: number;
  /** 'before': nothing is done and no answer is sent. 'after': it is done, and no answer is sent. */
  readonly drop?: 'before' | 'after';
  /** Answered in place of doing it. A block stream ends with it. */
  readonly status?: CallStatus;
  /** It is done (ordered, simulated), and then answered with this all the same. */
  readonly statusAfter?: CallStatus;
}

export interface FaultScope {
  /** Default: until it is removed. */
  readonly times?: number;
  /** Default: every call of the kind. */
  readonly when?: (call: FaultyCall) => boolean;
}

/** What a transaction is judged or reported to be, other than by its merits. Codes are TxValidationCode. */
export interface VerdictFault {
  readonly transactionId?: string;
  /** Default 1; a transaction id that is given makes it that one alone. */
  readonly times?: number;
  /** The block itself says so, and nothing is written: the next transactions that would have been VALID. */
  readonly commit?: number;
  /** CommitStatus says so, whatever the block says. */
  readonly commitStatus?: number;
  /** The block streams say so, whatever the block says. */
  readonly blocks?: number;
}

export interface ActiveFault {
  /** How often it struck. */
  readonly struck: () => number;
  readonly remove: () => void;
}

export interface FaultRegister {
  /** The oldest fault that fits a call strikes it. */
  inject(kind: CallKind, fault: CallFault, scope?: FaultScope): ActiveFault;
  judge(verdict: VerdictFault): ActiveFault;
  /** Removes all of them. */
  clear(): void;
}
