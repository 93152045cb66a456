import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError, type Gateway } from '@hyperledger/fabric-gateway';
import { connectClient } from '@sealgate/local-services/fabric';
import { DevnetError, messageOf } from './devnet-error.ts';
import type { ChannelPlan, NetworkPlan, OrganizationPlan } from './network-plan.ts';

/** The record that every `fabric:up` writes. It is create-once: later writes change nothing. */
const probeRecord = {
  id: 'sealgate-devnet-probe',
  type: 'devnet.probe',
  owner: null,
  data: JSON.stringify({ written: 'by npm run fabric:up' }),
  extra: null,
};

const callTimeoutMs = 10_000;

/**
 * Returns once the contract has committed a transaction and read it back on every channel, through the gateway of every
 * organisation's peer: only then do both peers know each other as endorsers.
 * @throws DevnetError with the last rejection after `timeoutMs`.
 */
export async function proveCommits(plan: NetworkPlan, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (const organization of plan.organizations) {
    await withGateway({ plan, organization }, (gateway) =>
      Promise.all(
        plan.channels.map((channel) =>
          untilTrue(() => commits(gateway, channel), end, `${channel.name} through ${organization.name}`),
        ),
      ),
    );
  }
}

/** Whether the probe record can be read on every channel through every peer. */
export async function canRead(plan: NetworkPlan, timeoutMs = callTimeoutMs): Promise<boolean> {
  const reads = plan.organizations.map((organization) =>
    withGateway(
      { plan, organization },
      (gateway) => Promise.all(plan.channels.map((channel) => readsBack(gateway, channel))),
      timeoutMs,
    ),
  );
  try {
    return (await Promise.all(reads)).flat().every(Boolean);
  } catch {
    return false;
  }
}

async function commits(gateway: Gateway, channel: ChannelPlan): Promise<boolean> {
  const contract = gateway.getNetwork(channel.name).getContract('records');
  await contract.submitTransaction('createMany', JSON.stringify([probeRecord]));
  return readsBack(gateway, channel);
}

async function readsBack(gateway: Gateway, channel: ChannelPlan): Promise<boolean> {
  const contract = gateway.getNetwork(channel.name).getContract('records');
  const read = Buffer.from(await contract.evaluateTransaction('read', probeRecord.id)).toString('utf8');
  return read !== '' && JSON.parse(read)?.id === probeRecord.id;
}

/** Retries rejections: at first gossip has not yet connected the peers, and a channel has no leader. */
async function untilTrue(attempt: () => Promise<boolean>, end: number, where: string): Promise<void> {
  let last = 'the record cannot be read back';
  while (performance.now() < end) {
    try {
      if (await attempt()) return;
    } catch (error) {
      last = wordsOfGateway(error);
    }
    await delay(200);
  }
  throw new DevnetError(`No transaction commits on ${where}: ${last}.`);
}

function wordsOfGateway(error: unknown): string {
  const details =
    error instanceof GatewayError ? error.details.map(({ address, message }) => `${address}: ${message}`) : [];
  return [messageOf(error), ...details].join('; ');
}

async function withGateway<T>(
  { plan, organization }: { readonly plan: NetworkPlan; readonly organization: OrganizationPlan },
  work: (gateway: Gateway) => Promise<T>,
  timeoutMs = callTimeoutMs,
): Promise<T> {
  const { user, userTls, peer, mspId, domain } = organization;
  const deadline = () => ({ deadline: Date.now() + timeoutMs });
  const { gateway, close } = connectClient(
    {
      url: `127.0.0.1:${peer.port}`,
      tlsCaFile: peer.tls.caFile,
      identity: { mspId, ...user },
      tlsName: `peer.${domain}`,
      ...(plan.settings.mutualTls === true ? { clientTls: userTls } : {}),
    },
    { evaluateOptions: deadline, endorseOptions: deadline, submitOptions: deadline, commitStatusOptions: deadline },
  );
  try {
    return await work(gateway);
  } finally {
    close();
  }
}
