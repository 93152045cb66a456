import type { Destination } from '../load/load-plan.ts';
import type { Row } from '../rows/row.ts';
import { until } from '../until.ts';
import { durabilityFaults } from './durable-settings.ts';
import type { Site } from './site.ts';
import type { Surface } from './surface-process.ts';

const deadlineMs = 600_000;

/** The maximum that the gateway accepts, above any load here: limits are on and never reached. */
const limits = { ratePerSecond: 1_000_000, burst: 1_000_000 };

/** Calls the admin API. Throws Error when the status is not the expected one. */
export async function askAdmin(
  { adminUrl, adminToken }: Pick<Surface, 'adminUrl' | 'adminToken'>,
  request: { method: 'GET' | 'POST'; path: string; body?: unknown; expect?: number },
): Promise<string> {
  const { method, path, body, expect = method === 'GET' ? 200 : 201 } = request;
  const response = await fetch(`${adminUrl}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(deadlineMs),
  });
  const text = await response.text();
  if (response.status !== expect)
    throw new UnexpectedAnswerError(
      response.status,
      `${method} ${path} answered ${response.status}: ${text.slice(0, 400)}`,
    );
  return text;
}

/** An answer with another status than was expected. */
export class UnexpectedAnswerError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Sender extends Destination {
  /** The full name of the only channel. */
  readonly channel: string;
}

/** A network with a key that may write, and with these channels; default: one. */
export async function makeSender(surface: Surface, networkId: string, channels?: readonly string[]): Promise<Sender> {
  await askAdmin(surface, { method: 'POST', path: '/networks', body: { networkId, limits, channels } });
  const body = { label: 'bench', limits };
  const minted: { rawKey: string } = JSON.parse(
    await askAdmin(surface, { method: 'POST', path: `/networks/${networkId}/keys`, body }),
  );
  const headers = { 'Content-Type': 'application/json', 'X-Api-Key': minted.rawKey };
  return { port: surface.port, path: `/${networkId}`, headers, channel: `${networkId}.main` };
}

export const githubSecret = 'the-secret-of-the-benchmark';

/** A network with a source of signed webhooks. Each delivery is new; `signature` is that of all bodies. */
export async function makeSource(surface: Surface, networkId: string, signature: string): Promise<Sender> {
  await askAdmin(surface, { method: 'POST', path: '/networks', body: { networkId, limits } });
  const body = { name: 'bench', scheme: 'github', secrets: [{ id: 'k1', value: githubSecret }], limits };
  const made: { path: string } = JSON.parse(
    await askAdmin(surface, { method: 'POST', path: `/networks/${networkId}/sources`, body }),
  );
  const headers = {
    'Content-Type': 'application/json',
    'X-GitHub-Event': 'push',
    'X-GitHub-Delivery': '{key}',
    'X-Hub-Signature-256': signature,
  };
  return { port: surface.port, path: made.path, headers, channel: `${networkId}.main` };
}

/** Number of records of these channels in the ledger, counted from rows, not from heads. */
export async function countRecords({ sql }: Pick<Site, 'sql'>, channels: readonly string[]): Promise<number> {
  const text =
    'SELECT count(*) AS rows FROM ledger.records JOIN ledger.channels USING (channel_id) WHERE channels.channel = ANY ($1)';
  const [row] = await sql.query<{ rows: string }>({ text, values: [channels] });
  return Number(row?.rows);
}

/** A row that writes: every acknowledged record is durable and in the ledger, once. */
export function writes(
  site: Pick<Site, 'sql' | 'settings'>,
  channels: readonly string[],
  recordsPerRequest = 1,
): Required<Pick<Row, 'recordsPerRequest' | 'proof'>> {
  return {
    recordsPerRequest,
    proof: async (answers) => {
      const [acknowledged, inLedger] = [answers * recordsPerRequest, await countRecords(site, channels)];
      return [
        ...durabilityFaults(site.settings),
        ...(inLedger === acknowledged
          ? []
          : [`${acknowledged} records were acknowledged, the ledger holds ${inLedger}.`]),
      ];
    },
  };
}

const signedWithinMs = 120_000;

/** Waits until the checkpoint of a channel covers its records. */
export async function untilSigned(surface: Surface, channel: string): Promise<void> {
  const isSigned = async (): Promise<boolean> => {
    const text = await askAdmin(surface, { method: 'GET', path: `/ledger/channels/${channel}` });
    const { size, signed }: { size: number; signed: number } = JSON.parse(text);
    return signed >= size;
  };
  await until(isSigned, {
    ...{ withinMs: signedWithinMs, againMs: 10 },
    late: 'The checkpoint did not cover the channel in time.',
  });
}
