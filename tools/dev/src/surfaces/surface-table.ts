import type { Surface } from '../start/surface.ts';
import { appsWith } from '../workspace.ts';
import { caseGate } from './case-gate.ts';
import { consolePages } from './console-pages.ts';
import { ingestGateway } from './ingest-gateway.ts';
import { ledgerPeer } from './ledger-peer.ts';
import { riskPartner } from './risk-partner.ts';

/** In the order in which they start. A new surface is one more row. */
const table: readonly Surface[] = [ledgerPeer, ingestGateway, riskPartner, caseGate, consolePages];

/** The surfaces of the table that are built in this checkout. */
export function existingSurfaces(): Surface[] {
  const built = appsWith('src/main.ts');
  return table.filter(({ name }) => built.includes(name));
}
