import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { EchoName } from './echo-server.ts';

/** The yardsticks, a process each: `echo.ts NAME FILE` listens on a free loopback port, and ends with its parent. */
const servers: Readonly<Record<EchoName, (file: string) => RequestListener | Promise<RequestListener>>> = {
  'express-echo': expressEcho,
  // Loaded by this process only: the others are measured without these packages.
  'express-packages': async (logFile) => (await import('./express-packages.ts')).expressPackages(logFile),
  'express-page': expressPage,
};

/** Express 5 with its own JSON parser only, as its guide shows. */
function expressEcho(): RequestListener {
  const app = express();
  app.use(express.json({ limit: '1mb' }));
  app.post('/:networkId', (request, response) => {
    response.json(request.body);
  });
  return app;
}

/** Express 5 that answers each GET with the object in the given file, by `response.json` as its guide shows. */
function expressPage(file: string): RequestListener {
  const page: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const app = express();
  app.get('/api/v1/assets', (_request, response) => {
    response.json(page);
  });
  return app;
}

const [name = '', file = ''] = process.argv.slice(2);
const server = createServer(await servers[name as EchoName](file));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // It listens on TCP, so the address is not a pipe name.
  process.send?.({ port });
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
