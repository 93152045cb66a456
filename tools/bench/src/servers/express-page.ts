import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import express from 'express';
import { listenForParent } from './tell-parent.ts';

/** Express 5 that answers each GET with the object in the given file, by `response.json` as its guide shows. */
const page: unknown = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const app = express();
app.get('/api/v1/assets', (_request, response) => {
  response.json(page);
});

listenForParent(createServer(app));
