import { request, type RequestOptions } from 'node:https';
import { Webhook as Signer } from 'standardwebhooks';
import type { Delivery } from '../domain/deliver-events.ts';
import { hostOf, receiverAddress, type Networks, type Resolve } from './receiver-address.ts';

/** Why an attempt failed, from a closed set: what a receiver answers is never shown. */
export type DeliveryProblem =
  'address_refused' | 'no_address' | 'no_answer' | 'certificate_refused' | 'redirect' | 'status';

export type SendWebhook = (webhook: Delivery, signal: AbortSignal) => Promise<DeliveryProblem | undefined>;

interface SenderOptions {
  readonly allowed: Networks;
  readonly resolve: Resolve;
  readonly now: () => number;
  /** Of the whole attempt, the look-up too. */
  readonly withinMs: number;
  /** PEM of further authorities; for tests. */
  readonly ca?: string;
}

const ANSWER_BYTES = 1024;

/**
 * Sends webhooks as Standard Webhooks (v1). The name is resolved once and that address is connected to, so that another
 * answer a moment later changes nothing. Redirects are not followed, proxies of the environment not used, and of the
 * answer a kilobyte is read and nothing kept. No retry here: the caller holds the cursor.
 */
export function webhookSender({ allowed, resolve, now, withinMs, ca }: SenderOptions): SendWebhook {
  return async (webhook, signal) => {
    const url = new URL(webhook.url);
    const ending = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    let address: string | undefined;
    try {
      address = await orAborted(receiverAddress(url, { allowed, resolve }), ending);
    } catch {
      return 'no_address';
    }
    if (address === undefined) return 'address_refused';
    const host = hostOf(url);
    return post(webhook.body, {
      host: address,
      port: url.port === '' ? 443 : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      // The certificate must be of the name, or of the address if the URL has one.
      ...(host === address ? {} : { servername: host }),
      headers: { Host: url.host, ...headersOf(webhook, new Date(now())) },
      agent: false,
      signal: ending,
      ...(ca === undefined ? {} : { ca }),
    });
  };
}

function headersOf({ id, body, secrets }: Delivery, at: Date) {
  const signatures = secrets.map((secret) => new Signer(secret).sign(id, at, body));
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': 'Sealgate',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

function post(body: string, options: RequestOptions): Promise<DeliveryProblem | undefined> {
  return new Promise((resolve) => {
    const sent = request(options, (answer) => {
      const { statusCode = 0 } = answer;
      let bytes = 0;
      const end = (): void => {
        resolve(problemOf(statusCode));
        answer.destroy();
      };
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES) end();
      });
      answer.on('end', end).on('error', end);
    });
    sent.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(isOfCertificate(code) ? 'certificate_refused' : 'no_answer'),
    );
    sent.end(body);
  });
}

/** Codes of OpenSSL's verification, as Node names them, and of Node's own check of the name. */
const isOfCertificate = (code = ''): boolean =>
  code === 'ERR_TLS_CERT_ALTNAME_INVALID' ||
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_)/.test(code);

function problemOf(status: number): DeliveryProblem | undefined {
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new Error('The look-up took too long.'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
