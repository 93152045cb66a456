/** Runs `count` calls, at most `width` at a time, and returns the results in order. */
export async function inParallel<Result>(
  width: number,
  count: number,
  work: (number: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) results[number] = await work(number);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
