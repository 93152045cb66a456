import { canonical } from '@sealgate/json';
import type { OrderedAsset } from './asset.ts';
import type { NewAsset } from './asset-ledger.ts';
import { actionOf, transientOf, type Mappings, type Target } from './mapping.ts';
import { splitAsset } from './transient-members.ts';

interface BatchLimits {
  /** Maximum assets of one batch. */
  readonly batchSize: number;
  /** Maximum bytes of content of one batch; a larger asset is sent alone. */
  readonly maxBytes: number;
}

/** Assets sent to one target together, if its contract allows it. */
export interface Batch {
  readonly target: Target;
  /** To be written; no id twice. */
  readonly assets: readonly NewAsset[];
  /** Index of each in the request. */
  readonly indexes: readonly number[];
  /** Indexes of assets that lost their id to other content earlier in the request. */
  readonly refusedIndexes: readonly number[];
}

export interface Plan {
  /** The ids in the order of the request. */
  readonly ids: readonly string[];
  /** In the order of their first assets. */
  readonly batches: readonly Batch[];
  /** Indexes of assets with an unmapped type, or an action that it does not have. */
  readonly unmapped: readonly number[];
  /** Assets equal to an earlier one of the request: their index, and the earlier one's. */
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
  /** Assets of the request in this batch, including those that are not written. */
  places: number;
}

/** Counted for each asset in addition to its texts. */
const OVERHEAD_BYTES = 64;

/**
 * Sorts the assets of a request into batches. An id occurs once in a batch: repeated equal content refers to the first,
 * other content is rejected. Ids are compared within a channel and chaincode, where they are unique.
 */
export function planBatches(assets: readonly OrderedAsset[], mappings: Mappings, limits: BatchLimits): Plan {
  const planner = new Planner(limits);
  const unmapped: number[] = [];
  /** A cache: a request has few types, and many assets of each. */
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
    const isMapped =
      asset.action === undefined || (target !== undefined && actionOf(target, asset.action) !== undefined);
    if (target === undefined || !isMapped) unmapped.push(index);
    else planner.add(target, asset, index);
  });
  const { batches, repeats } = planner;
  return { ids: assets.map(({ id }) => id), batches, unmapped, repeats };
}

function newAsset(target: Target, ordered: OrderedAsset): NewAsset {
  const { asset, transient } = splitAsset(ordered, transientOf(target, ordered.action));
  const text = canonical(asset.data);
  if (transient === undefined) return { ...asset, text };
  const texts = Object.entries(transient).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : canonical(value),
  ]);
  return { ...asset, text, transient: Object.fromEntries(texts) as Record<string, string> };
}

const isSame = (one: NewAsset, other: NewAsset): boolean =>
  one.type === other.type && one.text === other.text && transientText(one) === transientText(other);

const transientText = ({ transient = {} }: NewAsset): string => canonical(transient);

class Planner {
  readonly batches: OpenBatch[] = [];
  readonly repeats = new Map<number, number>();
  readonly #limits: BatchLimits;
  readonly #open = new Map<Target, OpenBatch>();
  /** By chaincode: ids are unique within one, across its contracts. */
  readonly #firsts = new Map<string, FirstAssets>();

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  add(target: Target, ordered: OrderedAsset, index: number): void {
    const { id, type } = ordered;
    const asset = newAsset(target, ordered);
    const bytes = asset.text.length + transientText(asset).length + id.length + type.length + OVERHEAD_BYTES;
    const batch = this.#batchFor(target, bytes);
    batch.places += 1;
    const first = batch.firsts.get(id);
    if (first === undefined) {
      batch.firsts.set(id, { asset, index });
      batch.assets.push(asset);
      batch.indexes.push(index);
      batch.bytes += bytes;
    } else if (isSame(first.asset, asset)) {
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
