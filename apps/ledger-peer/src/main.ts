import { opsApp } from '@sealgate/http';
import { runSurface } from '@sealgate/service-host';
import { compose } from './compose.ts';
import { readConfig } from './config.ts';
import { LOOK_WITHIN_MS, NAME } from './parts.ts';

runSurface({ name: NAME, readConfig, opsApp, checkTimeoutMs: LOOK_WITHIN_MS, compose });
