import type { NetworkStatus } from './status.ts';
import type { UpResult } from './up.ts';

/** The last output of `fabric:up`. */
export function upScreen({ plan, contracts, wasUp }: UpResult, seconds: number): string {
  const { orderer, organizations, channels, folders } = plan;
  return [
    wasUp ? 'The network is already up.' : `The network is up, after ${seconds.toFixed(1)} seconds.`,
    '',
    `  orderer      127.0.0.1:${orderer.port}    metrics http://127.0.0.1:${orderer.operationsPort}/metrics`,
    ...organizations.map(
      ({ name, peer, mspId }) =>
        `  peer ${name.padEnd(7)} 127.0.0.1:${peer.port}    metrics http://127.0.0.1:${peer.operationsPort}/metrics    ${mspId}`,
    ),
    `  channels     ${channels.map(({ name, endorsementPolicy }) => `${name} ${endorsementPolicy}`).join('    ')}`,
    `  contracts    ${contracts.join(', ')}`,
    '',
    ...organizations.map(({ connectionFile }) => `  FABRIC_CONFIG=${connectionFile}`),
    '',
    `Keys, blocks and logs are in ${folders.data}. Next: npm run fabric:status, npm run fabric:down.`,
  ].join('\n');
}

/** One line for each program, below the state of the network. */
export function statusLines({ state, data, roles }: NetworkStatus): string {
  const words = {
    up: `The network in ${data} is up.`,
    partly: `The network in ${data} is partly up: repair it with npm run fabric:up.`,
    down: `The network in ${data} is down.`,
    absent: `There is no network in ${data}.`,
  };
  const lines = roles.map(({ role, running, listening, pid, ports }) => {
    const how = listening ? 'up' : running ? 'running, not listening' : 'down';
    return `  ${role.padEnd(14)} ${ports.join(' ').padEnd(16)} ${how}${pid === undefined ? '' : ` (process ${pid})`}`;
  });
  return [words[state], ...lines].join('\n');
}
