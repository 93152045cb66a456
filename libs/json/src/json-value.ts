/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [member: string]: JsonValue };

/** Maximum nesting of arrays and objects in a body; the outermost is level 1. Scalars add no level. */
export const MAX_DEPTH = 64;
