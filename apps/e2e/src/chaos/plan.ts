import type { FaultKind } from './faults/fault.ts';
import type { Random } from './random.ts';

/** Each kind as often as it wants, in a drawn order; and again in another, as long as somebody asks for the next. */
export function* planOf(kinds: readonly FaultKind[], random: Random): Generator<FaultKind> {
  for (let round = 0; ; round += 1) {
    const left = kinds.flatMap((kind) => Array.from({ length: kind.perRound ?? 1 }, () => kind));
    const drawn = random.fork(`round ${round}`);
    while (left.length > 0) yield left.splice(drawn.below(left.length), 1)[0]!;
  }
}
