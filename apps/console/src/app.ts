import { createApp, type App, type AppBase, type Route } from '@sealgate/http';
import { forwardRoutes, type ForwardPorts } from './routes/forward.ts';
import { mineRoutes, type MinePorts } from './routes/mine.ts';
import { overviewRoutes, type OverviewPorts } from './routes/overview.ts';
import { pageRoutes, type PagesPorts } from './routes/pages.ts';
import { sessionRoutes, type SessionPorts } from './routes/session.ts';
import { signInRoutes, type SignInPorts } from './routes/sign-in.ts';
import { sessionGuard, type ConsoleCaller } from './session-guard.ts';

export type ConsolePorts = SessionPorts & SignInPorts & ForwardPorts & MinePorts & OverviewPorts & PagesPorts;

/** All routes of the console. */
export function consoleRoutes(ports: ConsolePorts): Route<ConsoleCaller>[] {
  return [
    ...sessionRoutes(ports),
    ...signInRoutes(ports),
    ...mineRoutes(ports),
    ...overviewRoutes(ports),
    ...forwardRoutes(ports),
    ...pageRoutes(ports),
  ];
}

/**
 * The listener of the console. Checks of each request, in order: path, method, session or key (`session-guard.ts`),
 * then the origin, in the handler. Permissions are checked by the surface.
 */
export function consoleApp(base: AppBase, ports: ConsolePorts): App {
  return createApp({
    ...base,
    head: true,
    compress: true,
    guard: sessionGuard(ports),
    routes: consoleRoutes(ports),
  });
}
