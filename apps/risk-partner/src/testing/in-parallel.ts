/** Does each of the jobs, so many at a time; the results are in the order of the jobs. */
export async function inParallel<Job, Result>(
  jobs: readonly Job[],
  work: (job: Job) => Promise<Result>,
  width = 16,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < jobs.length; index = next++) results[index] = await work(jobs[index]!);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
