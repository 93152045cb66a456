// Run by `helm test`. OPS is the URL of the Service of all processes, PUBLIC that of the servers.
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';

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

const faults = [];
const opsUrl = new URL('/health/ready', process.env.OPS);
const addresses = await lookup(opsUrl.hostname, { all: true }).catch((error) => {
  faults.push(`${opsUrl.hostname}: ${error.message}`);
  return [];
});
for (const { address } of addresses) {
  const { status, body } = await ask(opsUrl, address);
  console.log(`${address} ready: ${status} ${body}`);
  if (status !== 200) faults.push(`${address} is not ready: ${status} ${body}`);
}
// No surface and no console page has this path: a problem document shows that one of our processes answers.
const publicUrl = new URL('/api/helm-test', process.env.PUBLIC);
const answer = await ask(publicUrl);
console.log(`${publicUrl.origin}: ${answer.status}`);
if (!answer.body.includes('urn:sealgate:problem:')) faults.push(`${publicUrl.origin}: ${answer.status} ${answer.body}`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
