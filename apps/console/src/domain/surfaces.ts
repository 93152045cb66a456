/** The surfaces that the console can show, by the names of their folders. */
export const SURFACE_IDS = ['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'] as const;

export type SurfaceId = (typeof SURFACE_IDS)[number];

/** A listener that requests are passed on to. */
export interface Listener {
  /** Without trailing slash. */
  readonly url: string;
  /** What tokens for it are for (RFC 8707); undefined: it takes none, and gets none. */
  readonly audience: string | undefined;
}

/** One surface, as far as the console knows it. */
export interface Surface {
  readonly id: SurfaceId;
  readonly api: Listener | undefined;
  readonly admin: Listener | undefined;
  /** Where others than the console reach the public listener; undefined where it has none. */
  readonly publicUrl: string | undefined;
  /** Its listener for probes; undefined: the overview says nothing of it. */
  readonly opsUrl: string | undefined;
}

/** The header in which a surface takes the key that a person typed. */
export const keyHeader = (id: SurfaceId, key: string): readonly [name: string, value: string] =>
  id === 'risk-partner' || id === 'case-gate' ? ['Authorization', `Bearer ${key}`] : ['X-Api-Key', key];

/** Every audience that the surfaces have, once each. */
export const audiencesOf = (surfaces: readonly Surface[]): string[] => [
  ...new Set(surfaces.flatMap(({ api, admin }) => [api?.audience, admin?.audience]).filter((one) => one !== undefined)),
];
