import { setTimeout as delay } from 'node:timers/promises';
import { createLog, Metrics } from '@sealgate/observability';
import { integerField, listenerFields, loadConfig, main, runService } from '../src/index.ts';
import { opsApp, servedApp } from './served-app.ts';

/** A service in its own process, for tests of process start and exit. */
main('test-service', async () => {
  const fields = {
    ...listenerFields,
    testBehaviour: integerField({ name: 'TEST_CASE', description: 'x', min: 0, max: 9, default: 0 }),
  };
  const config = loadConfig(fields, process.env);
  const log = createLog({ service: 'test-service', level: 'info', stream: process.stdout, now: Date.now });
  await runService({
    name: 'test-service',
    config,
    log,
    metrics: new Metrics('test-service'),
    opsApp,
    compose: async (own) => {
      own('store', () => log.info('store_released'));
      if (config.testBehaviour === 1) throw new Error('a bug while composing');
      if (config.testBehaviour === 2) await delay(60_000);
      const publicApp = servedApp((request, response) => {
        if (request.url === '/reject') void Promise.reject(new Error('a rejection nobody handles'));
        if (request.url === '/throw')
          setImmediate(() => {
            throw new Error('an exception nobody catches');
          });
        setTimeout(() => response.end('answered'), request.url === '/slow' ? 300 : 0);
      });
      return { publicApp, ready: () => ({ ok: true }) };
    },
  });
});
