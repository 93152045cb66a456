import { randomBytes } from 'node:crypto';
import type { TestInstallation, TestPerson } from './test-installation.ts';

type Members = Readonly<Record<string, unknown>>;
export type Made = Record<string, unknown> & { readonly id: string };

export const newSha256 = (): string => randomBytes(32).toString('hex');

/** Writes rows as a person; throws if one is refused. */
export function rowsOf(service: TestInstallation, { key }: TestPerson) {
  const post = async (path: string, body: Members): Promise<Made> => {
    const answer = await service.api.send('POST', path, { key, body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json as Made;
  };
  const act = async (method: string, path: string, body?: Members): Promise<Made> => {
    const current = await service.api.get(path, key);
    const headers = { 'if-match': String(current.headers.etag) };
    const answer = await service.api.send(method, path, { key, headers, ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json as Made;
  };
  return {
    risk: (more: Members = {}) =>
      post('/api/risks', { title: 'A risk', category: 'ops', inherent: { likelihood: 2, impact: 3 }, ...more }),
    asset: (more: Members = {}) => post('/api/assets', { name: 'An asset', type: 'system', ...more }),
    control: (more: Members = {}) => post('/api/controls', { title: 'A control', ...more }),
    policy: (more: Members = {}) => post('/api/policies', { title: 'A policy', body: 'Be careful.', ...more }),
    evidence: (more: Members = {}) =>
      post('/api/evidence', { title: 'Evidence', kind: 'document', sha256: newSha256(), ...more }),
    transition: (id: string, to: string, more: Members = {}) =>
      post(`/api/evidence/${id}/transitions`, { to, ...more }),
    change: (path: string, body: Members) => act('PATCH', path, body),
    remove: (path: string) => act('DELETE', path),
  };
}

/** Evidence collected by one person and approved by another. */
export async function approvedEvidence(
  service: TestInstallation,
  [collector, reviewer]: readonly [TestPerson, TestPerson],
  more: Members = {},
): Promise<Made> {
  const { id } = await rowsOf(service, collector).evidence(more);
  await rowsOf(service, collector).transition(id, 'in_review');
  return rowsOf(service, reviewer).transition(id, 'approved');
}

/** The members of a list envelope that tests use. */
export interface ListEnvelope {
  readonly items: readonly Made[];
  readonly pagination: { readonly limit: number; readonly count: number; readonly nextCursor: string | null };
  readonly snapshotId?: string;
  readonly evidence_hash: string;
}

export async function listOf(service: TestInstallation, key: string, path: string): Promise<ListEnvelope> {
  const answer = await service.api.get(path, key);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
  return answer.json as ListEnvelope;
}
