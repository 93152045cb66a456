import { canonical, type JsonValue } from '@sealgate/json';
import type { NewAsset } from './asset-ledger.ts';
import type { Mappings, Target } from './mapping.ts';

/** An asset as it was sent to us. */
export interface SentAsset {
  readonly id: string;
  readonly type: string;
  readonly data: JsonValue;
}

export interface BatchLimits {
  /** Most assets of one batch. */
  readonly batchSize: number;
  /** Most bytes of content of one batch; an asset that is larger goes alone. */
  readonly maxBytes: number;
}

/** What goes to one target together, as far as its contract lets it. */
export interface Batch {
  readonly target: Target;
  /** To be written; no id twice. */
  readonly assets: readonly NewAsset[];
  /** Where each of them stands in the request. */
  readonly indexes: readonly number[];
  /** Where the assets stand that lost their id to other content earlier in the request. */
  readonly refusedIndexes: readonly number[];
}

export interface Plan {
  /** The ids in the order of the request. */
  readonly ids: readonly string[];
  /** In the order of their first assets. */
  readonly batches: readonly Batch[];
  /** Where the assets stand whose type is not mapped. */
  readonly unmapped: readonly number[];
  /** Assets that say the same as an earlier one of the request: their index, and the earlier one's. */
  readonly repeats: ReadonlyMap<number, number>;
}

type FirstAssets = Map<string, { readonly asset: NewAsset; readonly index: number }>;

interface OpenBatch {
  readonly target: Target;
  /** By id, the first asset of the request in the same chaincode. */
  readonly firsts: FirstAssets;
  readonly assets: NewAsset[];
  readonly indexes: number[];
  readonly refusedIndexes: number[];
  bytes: number;
  /** Assets of the request that stand in it, those included that are not written. */
  places: number;
}

/** What a batch counts for an asset besides its texts. */
const OVERHEAD_BYTES = 64;

/**
 * Sorts the assets of a request into batches. One id never stands in a batch twice: the same content again is a repeat of
 * the first, other content is refused. Ids are compared within a channel and chaincode, where they are unique.
 */
export function planBatches(assets: readonly SentAsset[], mappings: Mappings, limits: BatchLimits): Plan {
  const planner = new Planner(limits);
  const unmapped: number[] = [];
  /** A request names few types, and many assets of each. */
  const targets = new Map<string, Target | undefined>();
  const targetOf = (type: string): Target | undefined => {
    const known = targets.get(type);
    if (known !== undefined || targets.has(type)) return known;
    const target = mappings.find(type);
    targets.set(type, target);
    return target;
  };
  assets.forEach((asset, index) => {
    const target = targetOf(asset.type);
    if (target === undefined) unmapped.push(index);
    else planner.add(target, asset, index);
  });
  const { batches, repeats } = planner;
  return { ids: assets.map(({ id }) => id), batches, unmapped, repeats };
}

class Planner {
  readonly batches: OpenBatch[] = [];
  readonly repeats = new Map<number, number>();
  readonly #limits: BatchLimits;
  readonly #open = new Map<Target, OpenBatch>();
  /** By chaincode: ids are unique within one, whichever contract of it writes them. */
  readonly #firsts = new Map<string, FirstAssets>();

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  add(target: Target, { id, type, data }: SentAsset, index: number): void {
    const asset: NewAsset = { id, type, data, text: canonical(data) };
    const bytes = asset.text.length + id.length + type.length + OVERHEAD_BYTES;
    const batch = this.#batchFor(target, bytes);
    batch.places += 1;
    const first = batch.firsts.get(id);
    if (first === undefined) {
      batch.firsts.set(id, { asset, index });
      batch.assets.push(asset);
      batch.indexes.push(index);
      batch.bytes += bytes;
    } else if (first.asset.type === type && first.asset.text === asset.text) {
      this.repeats.set(index, first.index);
    } else {
      batch.refusedIndexes.push(index);
    }
  }

  #batchFor(target: Target, bytes: number): OpenBatch {
    const open = this.#open.get(target);
    const { batchSize, maxBytes } = this.#limits;
    const fits = open !== undefined && open.places < batchSize && (open.bytes === 0 || open.bytes + bytes <= maxBytes);
    if (fits) return open;
    const firsts = this.#firstsOf(target);
    const batch: OpenBatch = { target, firsts, assets: [], indexes: [], refusedIndexes: [], bytes: 0, places: 0 };
    this.#open.set(target, batch);
    this.batches.push(batch);
    return batch;
  }

  #firstsOf({ channel, chaincode }: Target): FirstAssets {
    const name = `${channel} ${chaincode}`;
    let firsts = this.#firsts.get(name);
    if (firsts === undefined) this.#firsts.set(name, (firsts = new Map()));
    return firsts;
  }
}
