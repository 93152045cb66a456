export {
  route,
  routeFor,
  type Description,
  type HandlerContext,
  type Method,
  type PathParams,
  type PrefetchBody,
  type ProblemDecoration,
  type Reply,
  type Route,
} from './route.ts';
export {
  CallerChangedError,
  type Admission,
  type AuthRequest,
  type Guard,
  type RateLimitHeaders,
  type RequestNotes,
} from './guard.ts';
export { createApp, type App, type AppBase, type AppOptions } from './create-app.ts';
export { isJsonMediaType, utf8MediaType } from './read-body.ts';
export { isKnownTag, publicDocument, weakTag } from './entity-tag.ts';
export type { Meters } from './mounted-route.ts';
export {
  closedObject,
  columnsOf,
  double,
  enumOf,
  formatParameter,
  instantText,
  JwkSet,
  limitParameter,
  lineOfText,
  listOf,
  listQuery,
  named,
  namedAfter,
  openObject,
  orNull,
  searchParameter,
  sortParameter,
  totalSchema,
  type LimitRange,
} from './schemas.ts';
export { schemaFaults } from './document-rules.ts';
export { checkOpenApiFile, noPorts, openApi, type OpenApiDocument, type OpenApiOptions } from './openapi.ts';
export { opsApp, opsRoutes, type OpsAppOptions, type OpsOptions } from './ops-app.ts';
export { eventStream, type EventStream } from './event-stream.ts';
export { sendDownload } from './send-download.ts';
export { BodyTurns } from './body-turns.ts';
export { lookPlaces, type LookPlaces } from './caller-places.ts';
export { Deciding } from './deciding.ts';
export type { BodyRequest, BodyShare, BodyTerms } from './route.ts';
export { bytesAsToolResult, toolFrom, unknownArguments, type Tool, type ToolCall } from './tool.ts';
