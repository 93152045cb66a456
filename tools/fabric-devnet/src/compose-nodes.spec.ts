import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { composeFile, composeNodes, type RunDocker } from './compose-nodes.ts';
import { networkPlan } from './network-plan.ts';

const plan = networkPlan('/data/net', { portBase: 4300, batchTimeoutMs: 200 });

/** There is no Docker engine here: only the arguments passed to `docker` are tested. */
function recorded(running = '') {
  const calls: string[] = [];
  const docker: RunDocker = async (parameters, env) => {
    calls.push(parameters.slice(parameters.indexOf('fabric') + 1).join(' '));
    expect(parameters.slice(0, 2)).toEqual(['compose', '--project-name']);
    expect(env).toMatchObject({ FABRIC_DATA: '/data/net', FABRIC_USER: expect.stringMatching(/^\d+:\d+$/), LANG: 'C' });
    return parameters.includes('ps') ? running : '';
  };
  return { calls, nodes: composeNodes(plan, { LANG: 'C' }, docker) };
}

describe('container nodes', () => {
  it('start one service at a time', async () => {
    const { nodes, calls } = recorded();
    await nodes.start('peer-south');
    expect(calls).toEqual(['up --detach --no-deps peer-south']);
  });

  it('stop or kill only running services', async () => {
    const { nodes, calls } = recorded('orderer\npeer-north\n');
    expect(await nodes.end('orderer')).toBe(true);
    expect(await nodes.kill('peer-north')).toBe(true);
    expect(await nodes.end('peer-south')).toBe(false);
    expect(calls.filter((call) => !call.startsWith('ps'))).toEqual(['stop --timeout 20 orderer', 'kill peer-north']);
  });

  it('return the end of the log', async () => {
    const { nodes, calls } = recorded();
    await nodes.lastOutput('orderer');
    expect(calls).toEqual(['logs --no-color --no-log-prefix --tail 50 orderer']);
    expect(nodes.logFile('orderer')).toBeUndefined();
  });

  it("run Fabric's commands with their environment and parameters", async () => {
    const { nodes, calls } = recorded();
    await nodes.run('peer', ['channel', 'list'], {
      title: 'peer channel list',
      env: { FABRIC_CFG_PATH: '/data/net/c' },
    });
    expect(calls).toEqual(['run --rm --no-TTY --env FABRIC_CFG_PATH=/data/net/c tools peer channel list']);
  });

  it('match the services of the compose file and the paths of the plan', () => {
    const text = readFileSync(composeFile, 'utf8');
    const services = [...(text.split('\nservices:')[1] ?? '').matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name);
    expect(services).toEqual(['orderer', 'peer-north', 'peer-south', 'tools']);
    const folders = [plan.orderer, ...plan.organizations.map(({ peer }) => peer)].map(
      ({ configFolder }) => configFolder,
    );
    for (const folder of folders)
      expect(text).toContain(`FABRIC_CFG_PATH: ${folder.replace('/data/net', '${FABRIC_DATA:-/data}')}\n`);
  });
});
