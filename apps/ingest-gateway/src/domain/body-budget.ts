import { AppError } from '@sealgate/errors';
import type { SourceSettings } from './caller.ts';

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
}

export const BODY_BOUNDS: BudgetBounds = {
  inFlightBytes: 64 * MEBIBYTE,
  // Strangers who know the path of one source leave room for the others.
  ofOneBytes: 32 * MEBIBYTE,
  largeBytes: MEBIBYTE,
};

/** The largest body of a source. */
export function maxBytesOf({ maxBytes = DEFAULT_MAX_BYTES }: SourceSettings, mostBytes: number): number {
  return Math.min(maxBytes, mostBytes);
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body may hold at most ${maxBytes} bytes.`);
}

/** The part of one body in the budget. */
export interface HeldBody {
  /** That so many bytes of it have arrived. @throws AppError OVERLOADED where they do not fit. */
  arrived(bytes: number): void;
  release(): void;
}

/**
 * Memory for the bodies of deliveries in flight. A body takes what has arrived of it, never what it announces: nobody
 * has been authenticated yet, and whoever sends little holds little.
 */
export class BodyBudget {
  readonly #bounds: BudgetBounds;
  readonly #bySource = new Map<string, { bytes: number; hasLarge: boolean }>();
  #bytes = 0;

  constructor(bounds: BudgetBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes nothing yet. */
  open(sourceId: string): HeldBody {
    let held = 0;
    let isLarge = false;
    let isOver = false;
    return {
      arrived: (bytes) => {
        if (isOver || bytes <= held) return;
        const becomesLarge = !isLarge && bytes > this.#bounds.largeBytes;
        this.#take(sourceId, bytes - held, becomesLarge);
        held = bytes;
        isLarge ||= becomesLarge;
      },
      release: () => {
        if (isOver) return;
        isOver = true;
        this.#giveBack(sourceId, held, isLarge);
      },
    };
  }

  #take(sourceId: string, bytes: number, isLarge: boolean): void {
    const { inFlightBytes, ofOneBytes } = this.#bounds;
    const known = this.#bySource.get(sourceId) ?? { bytes: 0, hasLarge: false };
    if (isLarge && known.hasLarge) throw overloaded('The source has another large body in flight.');
    if (known.bytes + bytes > ofOneBytes) throw overloaded('The source has too many bytes in flight.');
    if (this.#bytes + bytes > inFlightBytes) throw overloaded('There are too many bytes in flight.');
    this.#bytes += bytes;
    this.#bySource.set(sourceId, { bytes: known.bytes + bytes, hasLarge: known.hasLarge || isLarge });
  }

  #giveBack(sourceId: string, bytes: number, isLarge: boolean): void {
    const known = this.#bySource.get(sourceId);
    if (known === undefined) return;
    this.#bytes -= bytes;
    const left = { bytes: known.bytes - bytes, hasLarge: known.hasLarge && !isLarge };
    if (left.bytes === 0) this.#bySource.delete(sourceId);
    else this.#bySource.set(sourceId, left);
  }
}

function overloaded(detail: string): AppError {
  return new AppError('OVERLOADED', `${detail} Send it again.`, { retryAfterSeconds: 5 });
}
