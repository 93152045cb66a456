import { get as httpGet, type IncomingMessage, type RequestOptions } from 'node:http';
import { get as httpsGet, type RequestOptions as SecureRequestOptions } from 'node:https';
import { startService, type RunningService, type ServiceOptions } from '../src/index.ts';
import { LOCAL, opsApp, recordingLog, servedApp } from './served-app.ts';

const running: RunningService[] = [];

/** For `afterEach`: stops all services started by a test. */
export async function stopServices(): Promise<void> {
  for (const service of running.splice(0)) await service.stop();
}

/** An app that answers "hello". */
export const hello = () => servedApp((_, response) => void response.end('hello'));

/** A "hello" service on free ports of loopback, with the given changes. */
export async function start(changes: Partial<ServiceOptions> = {}) {
  const { log, lines } = recordingLog();
  const service = await startService({
    name: 'test',
    config: LOCAL,
    log,
    opsApp,
    compose: async () => ({ publicApp: hello(), ready: () => ({ ok: true }) }),
    ...changes,
  });
  running.push(service);
  return { ...service, lines };
}

/** One GET; certificates are not verified. */
export function get(
  url: string,
  options: RequestOptions & SecureRequestOptions = {},
): Promise<{ readonly status: number; readonly text: string; readonly connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const take = (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, connection: response.headers.connection }),
      );
      response.on('error', reject);
    };
    const secure = url.startsWith('https:');
    (secure ? httpsGet(url, { rejectUnauthorized: false, ...options }, take) : httpGet(url, options, take)).on(
      'error',
      reject,
    );
  });
}

export const portOf = (url: string) => Number(new URL(url).port);
