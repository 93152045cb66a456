import type { BenchContext } from '../bench-context.ts';
import type { PlannedRequest } from '../load/load-plan.ts';
import type { Surface } from '../surfaces/surface-process.ts';

/** Sends each to the admin API once. Throws unless all were created. */
export async function createAll(
  { generator }: Pick<BenchContext, 'generator'>,
  { adminUrl, adminToken }: Pick<Surface, 'adminUrl' | 'adminToken'>,
  all: readonly (readonly [path: string, body: unknown])[],
): Promise<void> {
  if (all.length === 0) return;
  const headers = { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' };
  const requests = all.map(([path, body]): PlannedRequest => {
    return { method: 'POST', path: `/admin/v1${path}`, body: JSON.stringify(body) };
  });
  const { succeeded, refused } = await generator.run({
    destinations: [{ port: Number(new URL(adminUrl).port), path: '', headers }],
    requests,
    firstRequest: 0,
    expects: [201],
    keyPrefix: 'create',
    watch: [],
    // One after the other: several connections send some of a list twice.
    connections: 1,
    until: { requests: requests.length },
  });
  if (succeeded !== requests.length)
    throw new Error(`${requests.length} were to be created, ${succeeded} were: ${JSON.stringify(refused)}.`);
}
