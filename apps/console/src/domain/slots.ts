import { AppError } from '@sealgate/errors';

/** Whose work it is: a signed-in person, in all their sessions, or a client without a session. */
export type Holder = { readonly issuer: string; readonly subject: string } | { readonly address: string };

interface SlotLimits {
  readonly total: number;
  /** The most for one person, and for one address without a session. */
  readonly perHolder: number;
  /** The most for all clients without a session. */
  readonly strangers: number;
}

/**
 * Limits concurrent work so that nobody can take all of it: neither one person, nor one address, nor all strangers
 * together. Memory is bounded by `total`.
 */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #held = new Map<string, number>();
  #active = 0;
  #strangers = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a slot and returns its release, which may be called more than once.
   * @throws AppError RATE_LIMITED if the holder's share is used up, OVERLOADED if all slots are.
   */
  take(holder: Holder): () => void {
    const { total, perHolder, strangers } = this.#limits;
    const isStranger = 'address' in holder;
    const key = JSON.stringify(isStranger ? [holder.address] : [holder.issuer, holder.subject]);
    const held = this.#held.get(key) ?? 0;
    if (held >= perHolder) throw new AppError('RATE_LIMITED', 'Too many of your requests are under way.');
    if (this.#active >= total || (isStranger && this.#strangers >= strangers))
      throw new AppError('OVERLOADED', 'Too many concurrent requests.');
    this.#count(key, isStranger, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#count(key, isStranger, -1);
      isHeld = false;
    };
  }

  #count(key: string, isStranger: boolean, change: 1 | -1): void {
    this.#active += change;
    if (isStranger) this.#strangers += change;
    const held = (this.#held.get(key) ?? 0) + change;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
  }
}
