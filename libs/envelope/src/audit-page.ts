import { Bytes, canonical, sha256Text, type JsonValue } from '@sealgate/json';

/**
 * Where an event stands in the chains of its surface. Each transaction that records one extends a lane that is free, so there
 * are as many lanes as transactions ran at once.
 */
export interface AuditLink {
  readonly lane: number;
  /** Number within the lane: from 1, without gaps. */
  readonly seq: number;
  /** The event before in this lane, and the newest one that was committed in each other lane, of those that moved lately. */
  readonly heads: readonly AuditHead[];
}

/** An event that another one followed. */
export interface AuditHead {
  readonly lane: number;
  readonly seq: number;
  /** RFC 3339, UTC, three fraction digits. */
  readonly at: string;
  /** The first HEAD_HASH_DIGITS hex digits of its `auditEventHash`. */
  readonly hash: string;
}

/** Nobody without the secrets can make an event at all, so few digits tell two events apart. */
export const HEAD_HASH_DIGITS = 16;

/**
 * Why an event cannot be taken as written by the surface: it has no MAC; its MAC is not of what it says; its MAC is of a
 * secret that the reading process does not have; it holds a value that cannot be shown (a time is then moved into the
 * range of RFC 3339, a detail left out).
 */
export const AUDIT_PROBLEMS = ['no_mac', 'wrong_mac', 'unknown_secret', 'unreadable'] as const;
export type AuditProblem = (typeof AUDIT_PROBLEMS)[number];

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
  /** Null if the row has none. */
  readonly link: AuditLink | null;
  /** Null if a process of the surface wrote exactly this. */
  readonly problem: AuditProblem | null;
  /** For paging: the time as the database has it. */
  readonly position: string;
}

/** The hash of an event, which its MAC and the events that follow it cover: SHA-256 of its RFC 8785 form, 64 hex digits. */
export function auditEventHash(
  surface: string,
  event: Omit<AuditEvent, 'link' | 'problem' | 'position'>,
  link: AuditLink,
): string {
  const { id, at, actor, action, resource, resourceId, requestId, detail } = event;
  const { lane, seq, heads } = link;
  const content = { v: 1, surface, id, at: at.toISOString(), actor, action, resource, resourceId, requestId, detail };
  const place = { lane, seq, heads: heads.map((head) => ({ ...head })) };
  return sha256Text(canonical({ ...content, link: place }), 'hex');
}

/** Which events to list. Filters match exactly; absent ones do not filter. `from` is inclusive, `to` exclusive. */
export interface AuditQuery extends Partial<Pick<AuditEvent, 'actor' | 'action' | 'resource' | 'resourceId'>> {
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: Pick<AuditEvent, 'position' | 'id'>;
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
