import type { RequestListener } from 'node:http';
import { Ajv } from 'ajv';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import helmet from 'helmet';
import { Counter, Histogram, Registry } from 'prom-client';
import winston from 'winston';

/** Express 5 with five packages that such a service has anyway, each as its guide shows, and no work. */
export function expressPackages(logFile: string): RequestListener {
  const log = winston.createLogger({
    level: 'info',
    format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
    transports: [new winston.transports.File({ filename: logFile })],
  });
  const registers = [new Registry()];
  const labelNames = ['method', 'route', 'status'];
  const requests = new Counter({ name: 'http_requests_total', help: 'Requests.', labelNames, registers });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests.',
    labelNames,
    registers,
  });
  const validate = new Ajv({ allErrors: true }).compile({
    type: 'object',
    properties: { type: { type: 'string', maxLength: 128 }, owner: { type: 'string' }, data: { type: 'object' } },
    required: ['type', 'data'],
    additionalProperties: false,
  });
  const app = express();
  app.use(helmet());
  app.use(rateLimit({ windowMs: 60_000, limit: 1_000_000_000, standardHeaders: 'draft-8', legacyHeaders: false }));
  app.use((request, response, next) => {
    const startedAt = performance.now();
    response.on('finish', () => {
      const durationMs = performance.now() - startedAt;
      const labels = { method: request.method, route: '/:networkId', status: response.statusCode };
      requests.inc(labels);
      durations.observe(labels, durationMs / 1_000);
      log.info('request', { ...labels, durationMs, bytes: request.headers['content-length'] });
    });
    next();
  });
  app.use(express.json({ limit: '1mb' }));
  app.post('/:networkId', (request, response) => {
    if (validate(request.body)) response.json(request.body);
    else response.status(400).json({ errors: validate.errors });
  });
  return app;
}
