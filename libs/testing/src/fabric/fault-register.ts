import type {
  ActiveFault,
  CallFault,
  CallKind,
  FaultRegister,
  FaultScope,
  FaultyCall,
  VerdictFault,
} from './faults.ts';

interface Armed<What> {
  readonly what: What;
  remaining: number;
  struck: number;
}

type Verdict = 'commit' | 'commitStatus' | 'blocks';

/** The register as the peer's services see it. */
export interface Faults extends FaultRegister {
  /** The fault that strikes this call, if any; it counts as struck. */
  strike(call: FaultyCall): CallFault | undefined;
  /** The code to say in place of the true one, if any. */
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
