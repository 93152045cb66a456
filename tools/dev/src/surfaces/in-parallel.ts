/** Does it for each item in turn, each worker beside the others. Results are in the order of the items. */
export async function inParallel<Worker, Item, Result>(
  workers: readonly Worker[],
  items: readonly Item[],
  work: (worker: Worker, item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const busy = async (worker: Worker): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(worker, items[index]!, index);
  };
  await Promise.all(workers.map(busy));
  return results;
}

/** The item at that place of an endless row of them. */
export const pick = <Item>(items: readonly Item[], index: number): Item => items[index % items.length]!;

/** Numbers from 0 up to `below` that look like chance and are the same each time. */
export const spread = (index: number, below: number): number => (((index + 1) * 2_654_435_761) % 4_294_967_296) % below;
