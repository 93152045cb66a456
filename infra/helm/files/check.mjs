// Run by `helm test`. OPS is the URL of the Service of all processes, PUBLIC that of the servers. It tries again for
// WAIT_SECONDS: after an upgrade the old processes are listed, and not ready, until they have drained.
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

const WITHIN_MS = 10_000;

/** Resolves with status and body; without a response, with status 0 and the error message. */
function ask(url, host = url.hostname) {
  const { get } = url.protocol === 'https:' ? https : http;
  const path = `${url.pathname}${url.search}`;
  // The certificate need not contain names of the cluster, so it is not verified here.
  const options = { host, port: url.port, path, rejectUnauthorized: false, signal: AbortSignal.timeout(WITHIN_MS) };
  return new Promise((resolve) => {
    get(options, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(parts).toString() }));
      response.on('error', (error) => resolve({ status: 0, body: error.message }));
    }).on('error', (error) => resolve({ status: 0, body: error.message }));
  });
}

/** What each process and the public listener say, and which of it is a fault. */
async function look() {
  const said = [];
  const faults = [];
  const opsUrl = new URL('/health/ready', process.env.OPS);
  const addresses = await lookup(opsUrl.hostname, { all: true }).catch((error) => {
    faults.push(`${opsUrl.hostname}: ${error.message}`);
    return [];
  });
  for (const { address } of addresses) {
    const { status, body } = await ask(opsUrl, address);
    said.push(`${address} ready: ${status} ${body}`);
    if (status !== 200) faults.push(`${address} is not ready: ${status} ${body}`);
  }
  // No surface and no console page has this path: a problem document shows that one of our processes answers.
  const publicUrl = new URL('/api/helm-test', process.env.PUBLIC);
  const { status, body } = await ask(publicUrl);
  said.push(`${publicUrl.origin}: ${status}`);
  if (!body.includes('urn:sealgate:problem:')) faults.push(`${publicUrl.origin}: ${status} ${body}`);
  return { said, faults };
}

const end = performance.now() + Number(process.env.WAIT_SECONDS) * 1000;
let seen = await look();
while (seen.faults.length > 0 && performance.now() < end) {
  await delay(1_000);
  seen = await look();
}
for (const line of seen.said) console.log(line);
for (const fault of seen.faults) console.error(fault);
process.exitCode = seen.faults.length === 0 ? 0 : 1;
