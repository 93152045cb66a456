import assert from 'node:assert/strict';
import type { JsonValue } from '@sealgate/json';
import type { OrderedAsset, WriteOrder } from './asset.ts';
import { transientOf, type Mappings } from './mapping.ts';

type Members = Readonly<Record<string, JsonValue>>;

/** An asset without its transient members, and those; undefined if it has none. */
export function splitAsset(
  asset: OrderedAsset,
  names: readonly string[],
): { readonly asset: OrderedAsset; readonly transient: Members | undefined } {
  const { data } = asset;
  if (names.length === 0 || !isMembers(data)) return { asset, transient: undefined };
  const isTransient = ([name]: [string, JsonValue]) => names.includes(name);
  const transient = Object.entries(data).filter(isTransient);
  if (transient.length === 0) return { asset, transient: undefined };
  const shown = Object.entries(data).filter((member) => !isTransient(member));
  return { asset: { ...asset, data: Object.fromEntries(shown) }, transient: Object.fromEntries(transient) };
}

/**
 * An order without the transient members of its assets, as JSON text, and those by asset, as JSON text to be sealed.
 * Undefined if there are none.
 */
export function splitOrder(
  { assets, ...order }: WriteOrder,
  mappings: Mappings,
): { readonly body: string; readonly transient: string } | undefined {
  const split = assets.map((asset) => splitAsset(asset, transientOf(mappings.find(asset.type), asset.action)));
  if (split.every(({ transient }) => transient === undefined)) return undefined;
  return {
    body: JSON.stringify({ assets: split.map(({ asset }) => asset), ...order }),
    transient: JSON.stringify(split.map(({ transient }) => transient ?? null)),
  };
}

/**
 * The order again. @throws AssertionError if the mapping would now show a member that was promised to stay transient.
 */
export function joinOrder(body: string, transient: string | undefined, mappings: Mappings): WriteOrder {
  const order = JSON.parse(body) as WriteOrder; // The route has validated it.
  if (transient === undefined) return order;
  const members = JSON.parse(transient) as (Members | null)[]; // Made by `splitOrder`.
  const assets = order.assets.map((asset, index): OrderedAsset => {
    const its = members[index] ?? {};
    const names = transientOf(mappings.find(asset.type), asset.action);
    const isKept = Object.keys(its).every((name) => names.includes(name));
    assert(isKept, 'A member that is transient for a job must stay so in the mapping until the job is done.');
    return { ...asset, data: { ...(isMembers(asset.data) ? asset.data : {}), ...its } };
  });
  return { ...order, assets };
}

const isMembers = (data: JsonValue): data is { [member: string]: JsonValue } =>
  typeof data === 'object' && data !== null && !Array.isArray(data);
