import { serveLoad } from './generator.ts';
import { runLoad } from './run-load.ts';

serveLoad(runLoad);
