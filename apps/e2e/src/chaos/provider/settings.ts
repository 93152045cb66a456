import type { JWK } from 'oidc-provider';

/** What the process of the provider is started with, as JSON in `PROVIDER`. */
export interface ProviderSettings {
  readonly port: number;
  /** Audiences of access tokens, asked for by `resource`. */
  readonly audiences: readonly string[];
  readonly people: readonly ProviderPerson[];
  readonly client: { readonly id: string; readonly secret: string; readonly redirectUri: string };
  readonly signingKey: JWK;
  readonly cookieSecret: string;
  /** Keeps sign-ins and refresh tokens, so that a kill loses none. */
  readonly storeFile: string;
}

/** Somebody who can sign in. */
export interface ProviderPerson {
  readonly subject: string;
  /** The claim `groups`. */
  readonly groups: readonly string[];
}

/** Long enough to outlive every outage, and short enough that a long run renews them. */
export const ACCESS_TOKEN_SECONDS = 600;
