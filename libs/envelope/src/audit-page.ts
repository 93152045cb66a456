import { Bytes, canonical, sha256Text, type JsonValue } from '@sealgate/json';

/** An event of the audit trail of a surface. */
export interface AuditEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string | null;
  readonly detail: JsonValue;
}

/** Which events to list. Filters match exactly; absent ones do not filter. `from` is inclusive, `to` exclusive. */
export interface AuditQuery extends Partial<Pick<AuditEvent, 'actor' | 'action' | 'resource' | 'resourceId'>> {
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: Pick<AuditEvent, 'at' | 'id'>;
  /** Default: newest first. */
  readonly oldestFirst?: boolean;
  readonly requestId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/**
 * The signed members of a page of an audit export: consecutive events of one surface, oldest first. The pages of an export
 * form a chain by `previous`, so a page that was left out, or the end of the export, is detectable.
 */
export interface AuditPageContent {
  readonly v: 1;
  /** Name of the surface, such as `ingest-gateway`. */
  readonly surface: string;
  /** The exported period: RFC 3339, UTC, three fraction digits; `from` is inclusive (null: since the first event), `to` exclusive. */
  readonly from: string | null;
  readonly to: string;
  /** When the page was made. */
  readonly at: string;
  /** `hash` of the page before; null on the first page. */
  readonly previous: string | null;
  /** Whether the export ends here. */
  readonly last: boolean;
  readonly items: readonly JsonValue[];
}

export interface AuditPage extends AuditPageContent {
  /** SHA-256 of the canonical form (RFC 8785) of `AuditPageContent`, 64 lower-case hex digits. */
  readonly hash: string;
  /** Detached JWS over that canonical form; by the surface's key. */
  readonly signature: string;
}

/** The text that is hashed and signed. */
export function auditPageText({ v, surface, from, to, at, previous, last, items }: AuditPageContent): string {
  return canonical({ v, surface, from, to, at, previous, last, items: [...items] });
}

/** Hashes and signs a page. Takes any signer: the type in document-signer.ts would bring Node's types into browsers. */
export function sealAuditPage(content: AuditPageContent, signer: { sign(bytes: Uint8Array): string }): AuditPage {
  const text = auditPageText(content);
  return { ...content, hash: sha256Text(text, 'hex'), signature: signer.sign(Bytes.from(text)) };
}
