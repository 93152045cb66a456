import { join } from 'node:path';
import { workspaceRoot } from './options.ts';
import type { NetworkStatus } from './status.ts';
import type { UpResult } from './up.ts';

/** What `fabric:up` ends with. */
export function upScreen({ plan, contracts, wasUp }: UpResult, seconds: number): string {
  const { orderer, organizations, channels, folders } = plan;
  return [
    wasUp ? 'The network is up already.' : `The network is up, after ${seconds.toFixed(1)} seconds.`,
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
    `Write a thousand assets through the ledger peer, and read them back: npm run fabric:demo${at(folders.data)}`,
    '',
    `Keys, blocks and logs lie in ${folders.data}. npm run fabric:status looks, npm run fabric:down stops.`,
  ].join('\n');
}

/** How a command is told of a folder that is not the default one. */
function at(data: string): string {
  return data === join(workspaceRoot, '.sealgate/fabric') ? '' : ` -- --data ${data}`;
}

/** One line for each program, under what they come to. */
export function statusLines({ state, data, roles }: NetworkStatus): string {
  const words = {
    up: `The network on ${data} is up.`,
    partly: `The network on ${data} runs in part: npm run fabric:up repairs it.`,
    down: `The network on ${data} does not run.`,
    absent: `There is no network on ${data}.`,
  };
  const lines = roles.map(({ role, running, listening, pid, ports }) => {
    const how = listening ? 'up' : running ? 'runs, does not listen' : 'down';
    return `  ${role.padEnd(14)} ${ports.join(' ').padEnd(16)} ${how}${pid === undefined ? '' : ` (process ${pid})`}`;
  });
  return [words[state], ...lines].join('\n');
}
