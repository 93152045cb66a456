import { fillTable } from '@sealgate/local-services';
import { FIRST_NUMBER, resourceCopies } from './resource-copies.ts';
import { postAs, type RiskSite } from './risk-site.ts';

/**
 * Creates an organisation of `assets` assets: one by the API, the others as copies of its rows with their own id, name
 * and time, all before it. So all texts are as the service writes them, and a million rows take less than minutes.
 */
export async function fillAssets(site: RiskSite, assets: number): Promise<void> {
  const { id = '', createdAt = '' } = await postAs(site.surface, site.keys.owner)('/assets', {
    refId: `REF-${FIRST_NUMBER}`,
    name: `Payment service ${FIRST_NUMBER}, second site`,
    type: 'system',
    criticality: 'high',
    dataClassification: 'confidential',
    environment: 'production',
    department: 'operations',
  });
  const first = { id, createdAt };
  await fillTable(site.url, 'risk.resources', [resourceCopies({ first, prefix: 'ast_', count: assets - 1 })]);
  await site.sql.query({ text: 'CHECKPOINT' });
}
