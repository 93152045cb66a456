/** What `/health/startup` and `/health` tell of the identity files; `problems` is empty when all is well. */
export interface CredentialsState {
  readonly ok: boolean;
  readonly problems: readonly string[];
  /** RFC 3339; null where there is no readable certificate. */
  readonly certificateExpiresAt: string | null;
}
