import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { opsApp } from '@sealgate/http';
import { runSurface, StartError } from '@sealgate/service-host';
import { compose } from './compose.ts';
import { readConfig } from './config.ts';
import { consoleMetrics } from './console-metrics.ts';
import { readWebFiles } from './data/web-files.ts';

/** Beside the bundle; when run from the sources, the pages of the last build. */
const WEB_FOLDERS = ['web', '../dist/web'].map((folder) => join(import.meta.dirname, folder));

runSurface({
  name: 'console',
  readConfig,
  opsApp,
  checkTimeoutMs: 1_000,
  async compose(basics, own) {
    const webFolder = WEB_FOLDERS.find((folder) => existsSync(join(folder, 'index.html')));
    if (webFolder === undefined) throw new StartError('The pages are not built: run `npm run build`.');
    const counters = consoleMetrics(basics.metrics);
    return compose({ ...basics, counters, webFiles: readWebFiles(webFolder) }, own);
  },
});
