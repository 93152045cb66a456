import type { Secrets } from '../../start/secrets.ts';
import type { AdminClient } from '../../start/admin-client.ts';
import { inParallel } from '../in-parallel.ts';
import { expectMade, postPatiently } from '../post-patiently.ts';
import { ledgerRecords } from './ledger-records.ts';

export interface DemoLedger {
  /** Where records are sent, without a trailing slash. */
  readonly url: string;
  readonly key: string;
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly networkId: string;
  /** The full name, `<networkId>.<name>`. */
  readonly channel: string;
}

const untilName = 'demo.ledgerUntil';
const SENDERS = 6;

/**
 * Writes the records of the demo, unless the last of them is there. Cut short, it goes on at the next start: the records are
 * the same, because the day they end on is remembered.
 */
export async function fillLedger({ url, key, admin, secrets, networkId, channel }: DemoLedger): Promise<void> {
  const until = Number(secrets.recall(untilName) ?? Date.now());
  secrets.remember(untilName, String(until));
  const requests = ledgerRecords(until);
  const last = `${networkId}-demo-complete`;
  const found = await admin.get(`/ledger/channels/${channel}/records/${last}`);
  if (found.status === 200) return;
  const send = async ({ idempotencyKey, body }: (typeof requests)[number]): Promise<void> => {
    const headers = { 'x-api-key': key, 'idempotency-key': idempotencyKey };
    expectMade(await postPatiently(`${url}/${networkId}`, { headers, body }));
  };
  await inParallel(Array.from({ length: SENDERS }), requests, (_, request) => send(request));
  const complete = { id: last, type: 'demo.import', data: { requests: requests.length } };
  await send({ idempotencyKey: `demo-${last}`, body: complete });
}
