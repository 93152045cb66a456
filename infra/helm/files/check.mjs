// What `helm test` runs. OPS is the Service of all processes, PUBLIC that of those that serve, both as URLs.
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';

const WITHIN_MS = 10_000;

/** Settles with status and body, or with the reason why there is no answer. */
function ask(url, host = url.hostname) {
  const { get } = url.protocol === 'https:' ? https : http;
  const path = `${url.pathname}${url.search}`;
  // Names of the cluster need not be in the certificate: whether that is the right one is not asked here.
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
// A path of no surface, and below the console's pages none either: a problem document shows that one of ours answers.
const publicUrl = new URL('/api/helm-test', process.env.PUBLIC);
const answer = await ask(publicUrl);
console.log(`${publicUrl.origin}: ${answer.status}`);
if (!answer.body.includes('urn:sealgate:problem:')) faults.push(`${publicUrl.origin}: ${answer.status} ${answer.body}`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
