import type { Gateway } from './gateway-process.ts';
import type { GatewaySite } from './gateway-site.ts';

const deadlineMs = 600_000;

/** The maximum that the gateway accepts, above any load here: limits are on and never reached. */
const limits = { ratePerSecond: 1_000_000, burst: 1_000_000 };

export interface Sender {
  readonly networkId: string;
  /** The full name of the only channel. */
  readonly channel: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls the admin API. Throws Error when the status is not the expected one. */
export async function askAdmin(
  { site, gateway }: { site: GatewaySite; gateway: Gateway },
  request: { method: 'GET' | 'POST'; path: string; body?: unknown; expect: number },
): Promise<string> {
  const { method, path, body, expect } = request;
  const response = await fetch(`${gateway.adminUrl}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${site.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(deadlineMs),
  });
  const text = await response.text();
  if (response.status !== expect)
    throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 400)}`);
  return text;
}

/** A network with a key that may write. */
export async function makeSender(of: { site: GatewaySite; gateway: Gateway }, networkId: string): Promise<Sender> {
  await askAdmin(of, { method: 'POST', path: '/networks', body: { networkId, limits }, expect: 201 });
  const path = `/networks/${networkId}/keys`;
  const minted: { rawKey: string } = JSON.parse(
    await askAdmin(of, { method: 'POST', path, body: { label: 'bench', limits }, expect: 201 }),
  );
  return {
    networkId,
    channel: `${networkId}.main`,
    path: `/${networkId}`,
    headers: { 'Content-Type': 'application/json', 'X-Api-Key': minted.rawKey },
  };
}

/** Number of records of these channels in the ledger, counted from rows, not from heads. */
export async function countRecords({ sql }: GatewaySite, ...channels: readonly string[]): Promise<number> {
  const text =
    'SELECT count(*) AS rows FROM ledger.records JOIN ledger.channels USING (channel_id) WHERE channels.channel = ANY ($1)';
  const [row] = await sql.query<{ rows: string }>({ text, values: [channels] });
  return Number(row?.rows);
}
