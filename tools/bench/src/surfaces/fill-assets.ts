import { fillTable } from '@sealgate/local-services';
import { FIRST_NUMBER, resourceCopies } from './resource-copies.ts';
import type { RiskSite } from './risk-site.ts';

/**
 * Creates an organisation of `assets` assets: one by the API, the others as copies of its rows with their own id, name
 * and time, all before it. So all texts are as the service writes them, and a million rows take less than minutes.
 */
export async function fillAssets(site: RiskSite, assets: number): Promise<void> {
  const first = await makeFirst(site);
  await fillTable(site.url, 'risk.resources', [resourceCopies({ first, prefix: 'ast_', count: assets - 1 })]);
  await site.sql.query({ text: 'CHECKPOINT' });
}

async function makeFirst({ surface, keys }: RiskSite): Promise<{ id: string; createdAt: string }> {
  const response = await fetch(`http://127.0.0.1:${surface.port}/api/assets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.owner}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      refId: `REF-${FIRST_NUMBER}`,
      name: `Payment service ${FIRST_NUMBER}, second site`,
      type: 'system',
      criticality: 'high',
      dataClassification: 'confidential',
      environment: 'production',
      department: 'operations',
    }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`POST /api/assets answered ${response.status}: ${text.slice(0, 400)}`);
  return JSON.parse(text);
}
