import { createServer } from 'node:http';
import { listenForParent } from './tell-parent.ts';

/** The lower bound: Node's own HTTP, echoing the bytes. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    response.end(body);
  });
});

listenForParent(server);
