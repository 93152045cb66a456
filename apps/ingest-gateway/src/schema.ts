/** The schema of this surface. No other surface reads it. */
export const SCHEMA = 'ingest';
