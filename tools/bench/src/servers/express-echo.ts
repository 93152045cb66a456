import { createServer } from 'node:http';
import express from 'express';
import { listenForParent } from './tell-parent.ts';

/** Express 5 with its own JSON parser only, as its guide shows. */
const app = express();
app.use(express.json({ limit: '1mb' }));
app.post('/:networkId', (request, response) => {
  response.json(request.body);
});

listenForParent(createServer(app));
