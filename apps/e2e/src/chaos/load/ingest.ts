import { createHmac } from 'node:crypto';
import { CHANNELS, type Network } from '../world.ts';
import type { Random } from '../random.ts';
import type { Asking, Client } from './client.ts';
import { Recent, type Step } from './load.ts';

/** Senders of records and of webhooks to the gateway. */
export function ingestSteps(client: Client, networks: readonly Network[]): Readonly<Record<'write' | 'deliver', Step>> {
  const answered = new Map(networks.map(({ networkId }) => [networkId, new Recent<Asking>(400)]));
  let sent = 0;
  const write: Step = async (random) => {
    const network = random.pick(networks);
    const known = answered.get(network.networkId)!;
    const earlier = random.chance(0.25) ? known.pick(random) : undefined;
    if (earlier !== undefined) return again(client, earlier, { random, networks });
    const asking = writing(network, `k-${random.text(20)}`, bodyOf(random, (sent += 1)));
    const told = await (random.chance(0.15) ? atOnce(client, asking, random) : client.insist(asking, random));
    if (told?.status === 200) known.add(asking);
  };
  const deliver: Step = async (random) => {
    const network = random.pick(networks);
    const asking = delivering(network, `d-${random.text(20)}`, bodyOf(random, (sent += 1)));
    await atOnce(client, asking, random);
  };
  return { write, deliver };
}

/** The same request to both replicas at once, then to either until it is decided. */
async function atOnce(client: Client, asking: Asking, random: Random) {
  await Promise.all([client.ask(asking, 0), client.ask(asking, 1)]);
  return client.insist(asking, random);
}

/** A request that was answered: repeated, with another body, or by somebody else. */
async function again(
  client: Client,
  asking: Asking,
  { random, networks }: { readonly random: Random; readonly networks: readonly Network[] },
): Promise<void> {
  const how = random.below(10);
  if (how < 7) return void (await client.insist(asking, random));
  if (how < 9) {
    const body = bodyOf(random, -1);
    return void (await client.insist({ ...asking, body, sent: { body } }, random));
  }
  // The key of another network on this one's path is refused, and shows nothing.
  const other = networks.find(({ networkId }) => networkId !== asking.as)!;
  const headers = { ...asking.headers, 'X-Api-Key': other.key };
  const { key: _key, sent: _sent, ...rest } = asking;
  await client.ask({ ...rest, act: 'foreign', as: other.networkId, headers }, random.below(2));
}

function writing({ networkId, key: apiKey }: Network, key: string, body: string): Asking {
  const headers = { 'X-Api-Key': apiKey, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  return {
    ...{ surface: 'ingest-gateway', act: 'write', as: networkId, path: `/${networkId}` },
    ...{ headers, body, key, sent: { body } },
  };
}

function delivering({ networkId, source: { path, secret } }: Network, id: string, body: string): Asking {
  const headers = {
    'Content-Type': 'application/json',
    'X-GitHub-Event': 'push',
    'X-GitHub-Delivery': id,
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  };
  return { surface: 'ingest-gateway', act: 'deliver', as: networkId, path, headers, body, key: id, sent: { body } };
}

/** One record, a batch, or a batch for both channels; each with content of its own. */
function bodyOf(random: Random, number: number): string {
  const record = { type: 'load', number, draw: random.text(24) };
  if (random.chance(0.6)) return JSON.stringify(record);
  const target = random.chance(0.2) ? { targetChannels: CHANNELS } : {};
  const count = random.between(1, 5);
  return JSON.stringify({ assets: Array.from({ length: count }, (_, n) => ({ ...record, n, ...target })) });
}
