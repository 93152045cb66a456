export type { Reply } from './reply.ts';
export { CallerChangedError } from './authenticate.ts';
export type { Admission, AuthRequest, Guard, LookedAhead, RateLimitHeaders, RequestNotes } from './guard.ts';
export type { HandlerContext, PathParams } from './handler-context.ts';
export {
  route,
  routeFor,
  type DescribedPath,
  type Method,
  type Permit,
  type ResponseSpec,
  type Route,
  type RouteDefinition,
} from './route.ts';
export { createApp, type App, type AppBase, type AppOptions, type TrustProxy } from './create-app.ts';
export { utf8MediaType } from './read-body.ts';
export { isKnownTag } from './request-view.ts';
export type { Meter, Meters } from './mounted-route.ts';
export {
  closedObject,
  instantText,
  lineOfText,
  limitParameter,
  listOf,
  listQuery,
  type LimitRange,
} from './parameters.ts';
export { enumOf, named, namedAfter } from './named-schema.ts';
export { checkOpenApiFile, openApi, type OpenApiDocument, type OpenApiOptions } from './openapi.ts';
export {
  opsApp,
  opsRoutes,
  type Health,
  type MetricsText,
  type OpsAppOptions,
  type OpsChecks,
  type OpsOptions,
} from './ops-app.ts';
export {
  ADMIN_BODY_MAX_BYTES,
  ADMIN_LIST_RANGE,
  adminApp,
  adminRoute,
  type AdminAppOptions,
  type AdminCaller,
  type AdminSignIn,
} from './admin-app.ts';
export { DeclaredLoss } from './admin-ledger-loss.ts';
export {
  adminLedgerRoutes,
  type AdminLedgerPorts,
  type AuditErasure,
  type LedgerAdministration,
} from './admin-ledger.ts';
export { adminStateRoutes, type AdminStatePorts, type WaitingItem } from './admin-state.ts';
export { eventStream, type EventStream, type EventStreamOptions, type StreamMessage } from './event-stream.ts';
export { publicDocument, weakTag } from './entity-tag.ts';
export { BodyTurns, type BodyTurnsOptions } from './body-turns.ts';
export { readPage, type Page } from './read-page.ts';
export { toolFrom, unknownArguments, type Tool, type ToolCall } from './tool.ts';
