import { randomBytes } from 'node:crypto';
import type { TestInstallation, TestPerson } from './test-installation.ts';

type Members = Readonly<Record<string, unknown>>;
export type Made = Record<string, unknown> & { readonly id: string };

export const newSha256 = (): string => randomBytes(32).toString('hex');

/** Writes rows as somebody, and throws when one is refused. */
export function rowsOf(there: TestInstallation, { key }: TestPerson) {
  const post = async (path: string, body: Members): Promise<Made> => {
    const answer = await there.api.send('POST', path, { key, body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json as Made;
  };
  const act = async (method: string, path: string, body?: Members): Promise<Made> => {
    const current = await there.api.get(path, key);
    const headers = { 'if-match': String(current.headers.etag) };
    const answer = await there.api.send(method, path, { key, headers, ...(body && { body }) });
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

/** Evidence that one has collected and another approved. */
export async function approvedEvidence(
  there: TestInstallation,
  [collector, reviewer]: readonly [TestPerson, TestPerson],
  more: Members = {},
): Promise<Made> {
  const { id } = await rowsOf(there, collector).evidence(more);
  await rowsOf(there, collector).transition(id, 'in_review');
  return rowsOf(there, reviewer).transition(id, 'approved');
}

/** An envelope of a list, as far as tests look into it. */
export interface ListEnvelope {
  readonly items: readonly Made[];
  readonly pagination: { readonly limit: number; readonly count: number; readonly nextCursor: string | null };
  readonly snapshotId?: string;
  readonly evidence_hash: string;
}

export async function listOf(there: TestInstallation, key: string, path: string): Promise<ListEnvelope> {
  const answer = await there.api.get(path, key);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
  return answer.json as ListEnvelope;
}
