/** What JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [member: string]: JsonValue };

/** The most levels of arrays and objects a body may have; the outermost value is level 1. Scalars add no level. */
export const MAX_DEPTH = 64;
