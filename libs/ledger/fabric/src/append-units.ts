import {
  ClaimInFlightError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type AppendUnit,
  type UnitClaim,
  type UnitResult,
} from '@sealgate/ledger-port';
import { inSpan } from '@sealgate/observability';
import type { ChannelMap, ChannelPlace } from './channel-map.ts';
import type { ClaimStore, HeldClaim } from './claim-store.ts';
import type { ContractCall } from './contract-call.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { FabricClient } from './fabric-client.ts';
import { ClaimTakenError, ContractRefusedError } from './fabric-errors.ts';
import type { OnResult } from './fabric-ledger.ts';
import { asLedgerError } from './ledger-problem.ts';
import { conflictOf, receiptsOf, recordsArgument } from './records-contract.ts';
import { readUnitNote, writeUnitNote } from './unit-note.ts';

export interface AppendUnitsOptions {
  readonly client: FabricClient;
  readonly claims: ClaimStore;
  readonly channels: ChannelMap;
  readonly callOf: (place: ChannelPlace, transaction: string, args: readonly string[]) => ContractCall;
  readonly now: () => number;
  readonly answerWithinMs: number;
  readonly onResult: OnResult;
}

/** How long a unit waits for one with another fingerprint under its claim. */
const OTHER_CLAIM_WAIT_MS = 250;

/** Units as transactions of the contract: one each, its claim taken with its journal row. */
export class AppendUnits {
  readonly #options: AppendUnitsOptions;
  /** By claim and fingerprint, when the unit has ended. */
  readonly #byClaim = new Map<string, Promise<unknown>>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: AppendUnitsOptions) {
    this.#options = options;
  }

  get depth(): number {
    return this.#running.size;
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  append(unit: AppendUnit): Promise<UnitResult> {
    const { claim } = unit;
    const result = inSpan({ name: 'ledger append' }, () =>
      claim === undefined ? this.#appendUnclaimed(unit) : this.#appendClaimed(unit, claim),
    );
    this.#running.add(result);
    const done = (): void => void this.#running.delete(result);
    result.then(done, done);
    return result;
  }

  async findConflict(unit: AppendUnit): Promise<string | undefined> {
    const { client, claims, channels, callOf } = this.#options;
    const place = channels.find(unit.channel);
    if (place === undefined) return undefined;
    try {
      if (unit.claim !== undefined && (await claims.find(unit.claim.claim)) !== undefined) return undefined;
      // Evaluated and not submitted, the same transaction says what is in its way.
      await client.evaluate(callOf(place, 'createMany', [recordsArgument(unit.records, place)]));
      return undefined;
    } catch (error) {
      const conflict = error instanceof ContractRefusedError ? conflictOf(error.message, place) : undefined;
      if (conflict === undefined) throw asLedgerError(error);
      return conflict;
    }
  }

  /** What became of a transaction of this ledger, this process's or another's. */
  tellSettlement: OnSettlement = (settlement, { note: text, isLate }) => {
    const about = readUnitNote(text);
    const place = about === undefined ? undefined : this.#options.channels.find(about.unit.channel);
    if (about === undefined || place === undefined) return undefined;
    const { unit, firstId } = about;
    if (settlement.status === 'committed') {
      const result = resultOf({ ...settlement, note: unit.note }, unit.channel, place);
      return this.#options.onResult(result, { unit, isLate });
    }
    // A caller who waits sees to a new attempt himself.
    return isLate ? this.#options.onResult({ outcome: 'conflict', id: firstId }, { unit, isLate }) : undefined;
  };

  #endsAt(): number {
    return this.#options.now() + this.#options.answerWithinMs;
  }

  async #appendUnclaimed(unit: AppendUnit): Promise<UnitResult> {
    return this.#told(unit, await this.#write(unit, this.#endsAt()));
  }

  /** No transaction came of a conflict, so nobody else would tell of it. */
  async #told(unit: AppendUnit, result: UnitResult): Promise<UnitResult> {
    if (result.outcome === 'conflict') await this.#options.onResult(result, { unit, isLate: false });
    return result;
  }

  /** Within this process the same unit is tried by one at a time; between others under a claim its row decides. */
  async #appendClaimed(unit: AppendUnit, claim: UnitClaim): Promise<UnitResult> {
    const endsAtMs = this.#endsAt();
    const key = `${claim.claim.toString('latin1')}${claim.fingerprint}`;
    // It ends within its own deadline, which began before this one's.
    for (let other = this.#byClaim.get(key); other !== undefined; other = this.#byClaim.get(key)) await other;
    const result = this.#claimOrReplay(unit, claim, endsAtMs);
    const ended = result.catch(() => undefined).finally(() => this.#byClaim.delete(key));
    this.#byClaim.set(key, ended);
    return result;
  }

  async #claimOrReplay(unit: AppendUnit, claim: UnitClaim, endsAtMs: number): Promise<UnitResult> {
    const { now } = this.#options;
    for (;;) {
      const held = await this.#find(claim);
      if (held !== undefined) {
        const replay = await this.#replay(held, claim, endsAtMs);
        if (replay !== undefined) return replay;
      }
      if (now() >= endsAtMs) throw new LedgerUnavailableError('The claim did not become free in time.');
      try {
        const result = await this.#write(unit, endsAtMs);
        // Whoever took the claim meanwhile may be who wrote what it conflicts with.
        const isTaken = result.outcome === 'conflict' && (await this.#find(claim)) !== undefined;
        if (!isTaken) return await this.#told(unit, result);
      } catch (error) {
        if (!(error instanceof ClaimTakenError)) throw error;
      }
    }
  }

  #find({ claim }: UnitClaim): Promise<HeldClaim | undefined> {
    return this.#options.claims.find(claim).catch((error: unknown) => {
      throw asLedgerError(error);
    });
  }

  /** Undefined where the claim was given up meanwhile: its transaction came to nothing. */
  async #replay(held: HeldClaim, { acceptable }: UnitClaim, endsAtMs: number): Promise<UnitResult | undefined> {
    const { client, now } = this.#options;
    const { transactionId, note, records } = held;
    const isSame = acceptable.includes(held.fingerprint);
    if (!held.settled) {
      const leftMs = Math.max(0, endsAtMs - now());
      const waitMs = isSame ? leftMs : Math.min(leftMs, OTHER_CLAIM_WAIT_MS);
      const settlement = await client.settle(transactionId, { waitMs }).catch((error: unknown) => {
        throw asLedgerError(error);
      });
      if (settlement?.status === 'unknown') throw isSame ? new OutcomeUnknownError(transactionId) : inFlight();
      if (settlement !== undefined && settlement.status !== 'committed') return undefined;
    }
    if (!isSame) return { outcome: 'reused' };
    return { outcome: 'replayed', transactionId, note, records };
  }

  /** @throws ClaimTakenError, and the errors of the port. */
  async #write(unit: AppendUnit, endsAtMs: number): Promise<UnitResult> {
    const { client, channels, callOf, now } = this.#options;
    const { channel, note, claim: wanted } = unit;
    const place = channels.of(channel);
    const claim =
      wanted === undefined
        ? undefined
        : (endorsed: { result: Buffer }) => ({
            claim: wanted.claim,
            fingerprint: wanted.fingerprint,
            channel,
            note,
            receipts: JSON.stringify(receiptsOf(endorsed.result, channel, place)),
          });
    try {
      const call = callOf(place, 'createMany', [recordsArgument(unit.records, place)]);
      const answerWithinMs = Math.max(1, endsAtMs - now());
      const options = { answerWithinMs, note: writeUnitNote(unit), ...(claim === undefined ? {} : { claim }) };
      const committed = await client.submit(call, options);
      return resultOf({ ...committed, note }, channel, place);
    } catch (error) {
      if (error instanceof ClaimTakenError) throw error;
      const conflict = error instanceof ContractRefusedError ? conflictOf(error.message, place) : undefined;
      if (conflict === undefined) throw asLedgerError(error);
      return { outcome: 'conflict', id: conflict };
    }
  }
}

/** The transaction that holds the claim may come to nothing, and then the claim is free again. */
function inFlight(): ClaimInFlightError {
  return new ClaimInFlightError('The claim is held by another request that is not settled yet.');
}

function resultOf(
  { transactionId, result, note }: { transactionId: string; result: Buffer; note: string },
  channel: string,
  place: ChannelPlace,
): UnitResult {
  const records = receiptsOf(result, channel, place);
  const outcome = records.every(({ existing }) => existing) ? 'existing' : 'written';
  return { outcome, transactionId, note, records };
}
