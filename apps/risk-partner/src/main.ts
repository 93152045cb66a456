import { opsApp } from '@sealgate/http';
import { runSurface } from '@sealgate/service-host';
import { compose } from './compose.ts';
import { readConfig } from './config.ts';
import { NAME } from './parts.ts';

runSurface({ name: NAME, readConfig, opsApp, checkTimeoutMs: 1500, compose });
