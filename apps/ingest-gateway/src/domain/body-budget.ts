import { AppError } from '@sealgate/errors';

const MEBIBYTE = 1_048_576;
/** The largest body that a source without `maxBytes` takes. */
export const DEFAULT_MAX_BYTES = MEBIBYTE;
/** The largest `maxBytes` of a source, and on a Fabric ledger, whose blocks and peers take no larger transactions. */
export const MOST_BYTES = 25 * MEBIBYTE;
export const MOST_BYTES_ON_FABRIC = 4 * MEBIBYTE;

interface BudgetBounds {
  /** Bytes of all bodies in flight, and of those of one source. */
  readonly inFlightBytes: number;
  readonly ofOneBytes: number;
  /** A source has one larger body at a time. */
  readonly largeBytes: number;
  /**
   * Each byte buys a body time at this rate, at most `patienceMs` ahead; one that has none left gives way to another that
   * needs its place, however much of it came at once before.
   */
  readonly slowBytesPerSecond: number;
  readonly patienceMs: number;
}

export const BODY_BOUNDS: BudgetBounds = {
  inFlightBytes: 64 * MEBIBYTE,
  // Strangers who know the path of one source leave room for the others.
  ofOneBytes: 32 * MEBIBYTE,
  largeBytes: MEBIBYTE,
  slowBytesPerSecond: MEBIBYTE / 4,
  patienceMs: 2000,
};

/** The largest body of a source. */
export function maxBytesOf(
  { maxBytes = DEFAULT_MAX_BYTES }: { readonly maxBytes?: number },
  mostBytes: number,
): number {
  return Math.min(maxBytes, mostBytes);
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body may hold at most ${maxBytes} bytes.`);
}

/** The part of one body in the budget. */
export interface HeldBody {
  /** That so many bytes of it have arrived. @throws AppError OVERLOADED where they do not fit. */
  arrived(bytes: number): void;
  /** Sets what ends its reading where it is slow and another needs its place; undefined once it has all arrived. */
  onCut(cut: ((error: AppError) => void) | undefined): void;
  release(): void;
}

interface Held {
  readonly sourceId: string;
  /** Until when it is no slow one. */
  inTimeUntilMs: number;
  bytes: number;
  isOver: boolean;
  cut: ((error: AppError) => void) | undefined;
}

/** Why more of a body has no room, and which bodies take it. */
interface Lack {
  readonly detail: string;
  readonly isInTheWay: (other: Held) => boolean;
}

/**
 * Memory for the bodies of deliveries in flight. A body takes what has arrived of it, never what it announces: nobody
 * has been authenticated yet, and whoever sends little holds little. Whoever sends slowly holds its place only until
 * another needs it, so that a trickle keeps nobody out.
 */
export class BodyBudget {
  readonly #bounds: BudgetBounds;
  readonly #now: () => number;
  readonly #held = new Set<Held>();
  readonly #bytesBySource = new Map<string, number>();
  readonly #largeBySource = new Map<string, Held>();
  #bytes = 0;

  /** `now` tells milliseconds. */
  constructor(bounds: BudgetBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes nothing yet. */
  readonly open = (sourceId: string): HeldBody => {
    const inTimeUntilMs = this.#now() + this.#bounds.patienceMs;
    const held: Held = { sourceId, inTimeUntilMs, bytes: 0, isOver: false, cut: undefined };
    return {
      arrived: (bytes) => {
        if (!held.isOver && bytes > held.bytes) this.#take(held, bytes);
      },
      onCut: (cut) => {
        held.cut = cut;
      },
      release: () => this.#giveBack(held),
    };
  };

  #take(held: Held, bytes: number): void {
    this.#makeRoom(held, bytes);
    const { sourceId } = held;
    const more = bytes - held.bytes;
    held.bytes = bytes;
    this.#buyTime(held, more);
    this.#held.add(held);
    this.#bytes += more;
    this.#bytesBySource.set(sourceId, this.#ofSource(sourceId) + more);
    if (bytes > this.#bounds.largeBytes) this.#largeBySource.set(sourceId, held);
  }

  #buyTime(held: Held, bytes: number): void {
    const { slowBytesPerSecond, patienceMs } = this.#bounds;
    const boughtMs = (bytes * 1000) / slowBytesPerSecond;
    held.inTimeUntilMs = Math.min(held.inTimeUntilMs + boughtMs, this.#now() + patienceMs);
  }

  #giveBack(held: Held): void {
    held.isOver = true;
    if (!this.#held.delete(held)) return;
    const { sourceId, bytes } = held;
    this.#bytes -= bytes;
    const left = this.#ofSource(sourceId) - bytes;
    if (left === 0) this.#bytesBySource.delete(sourceId);
    else this.#bytesBySource.set(sourceId, left);
    if (this.#largeBySource.get(sourceId) === held) this.#largeBySource.delete(sourceId);
  }

  /** Cuts slow bodies that are in the way, the slowest first. @throws AppError OVERLOADED where that is not enough. */
  #makeRoom(held: Held, bytes: number): void {
    for (;;) {
      const lack = this.#lackFor(held, bytes);
      if (lack === undefined) return;
      const slowest = this.#slowest((other) => other !== held && lack.isInTheWay(other));
      if (slowest === undefined) throw overloaded(lack.detail);
      this.#giveBack(slowest);
      slowest.cut?.(overloaded('The body arrived too slowly, and another needed its place.'));
    }
  }

  #lackFor({ sourceId, bytes: before }: Held, bytes: number): Lack | undefined {
    const { inFlightBytes, ofOneBytes, largeBytes } = this.#bounds;
    const large = this.#largeBySource.get(sourceId);
    if (bytes > largeBytes && before <= largeBytes && large !== undefined)
      return { detail: 'The source has another large body in flight.', isInTheWay: (other) => other === large };
    const more = bytes - before;
    if (this.#ofSource(sourceId) + more > ofOneBytes) {
      const isInTheWay = (other: Held) => other.sourceId === sourceId;
      return { detail: 'The source has too many bytes in flight.', isInTheWay };
    }
    if (this.#bytes + more > inFlightBytes)
      return { detail: 'There are too many bytes in flight.', isInTheWay: () => true };
    return undefined;
  }

  /** The one whose time was over first. */
  #slowest(isInTheWay: (other: Held) => boolean): Held | undefined {
    const nowMs = this.#now();
    let slowest: Held | undefined;
    for (const held of this.#held) {
      if (held.cut === undefined || held.inTimeUntilMs > nowMs || !isInTheWay(held)) continue;
      if (slowest === undefined || held.inTimeUntilMs < slowest.inTimeUntilMs) slowest = held;
    }
    return slowest;
  }

  #ofSource(sourceId: string): number {
    return this.#bytesBySource.get(sourceId) ?? 0;
  }
}

function overloaded(detail: string): AppError {
  return new AppError('OVERLOADED', `${detail} Send it again.`, { retryAfterSeconds: 5 });
}
