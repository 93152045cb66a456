import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { DevnetError, messageOf } from './devnet-error.ts';
import type { ChannelPlan, OrdererPlan } from './network-plan.ts';
import { explainOutput } from './run-command.ts';

const answerTimeoutMs = 10_000;

/** Fabric's channel participation API (`/participation/v1`) on the orderer's admin listener. */
export function ordererChannels({ adminPort, adminTls, tls }: OrdererPlan) {
  const options: RequestOptions = {
    host: '127.0.0.1',
    port: adminPort,
    ca: readFileSync(tls.caFile),
    cert: readFileSync(adminTls.certFile),
    key: readFileSync(adminTls.keyFile),
    timeout: answerTimeoutMs,
    servername: '', // TLS has no IP server names (RFC 6066); the certificate is still checked against the host.
    agent: false,
  };
  return {
    /** Whether the orderer has joined the channel and serves it. */
    async isServed(channel: string): Promise<boolean> {
      const { status, body } = await call({ ...options, path: `/participation/v1/channels/${channel}` });
      if (status === 404) return false;
      if (status !== 200) throw refused('tell of', channel, body);
      const info: unknown = JSON.parse(body);
      return typeof info === 'object' && info !== null && 'status' in info && info.status === 'active';
    },
    /** Joins the channel; does nothing if it has. */
    async join({ name, blockFile }: ChannelPlan): Promise<void> {
      const form = new FormData();
      form.set('config-block', new Blob([readFileSync(blockFile)]), 'block');
      const encoded = new Response(form);
      const payload = Buffer.from(await encoded.arrayBuffer());
      const headers = { 'content-type': encoded.headers.get('content-type') ?? '', 'content-length': payload.length };
      const answer = await call({ ...options, path: '/participation/v1/channels', method: 'POST', headers }, payload);
      // 405 means that it has joined the channel.
      if (answer.status !== 201 && answer.status !== 405) throw refused('join', name, answer.body);
    },
  };
}

const refused = (what: string, channel: string, body: string): DevnetError =>
  new DevnetError(explainOutput(`The orderer did not ${what} the channel ${channel}: ${body.trim().slice(0, 300)}`));

function call(options: RequestOptions, payload?: Buffer): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((done, failed) => {
    const asked = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        done({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
      response.on('error', failed);
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${answerTimeoutMs / 1_000} seconds`)));
    asked.on('error', (cause) =>
      failed(new DevnetError(`The orderer's admin listener cannot be reached: ${messageOf(cause)}.`, { cause })),
    );
    asked.end(payload);
  });
}
