import type { Cursors, PartnerPorts, PartnerSource } from '../domain/read-partner.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { KINDS } from '../domain/resource.ts';
import { partnerCoverage } from './partner-coverage.ts';
import { partnerFrameworks } from './partner-frameworks.ts';
import { partnerProofs } from './partner-proofs.ts';
import { partnerResources, type PartnerSourceOptions } from './partner-resources.ts';
import { partnerSnapshots, snapshotReads } from './partner-snapshots.ts';

/** Where each collection of the catalogue is read. */
export function partnerPorts({
  cursors,
  ...options
}: PartnerSourceOptions & { readonly cursors: Cursors }): PartnerPorts {
  const { sql } = options;
  const resources = KINDS.map((kind): [string, PartnerSource] => [
    KIND_OF[kind].collection,
    partnerResources(kind, options),
  ]);
  const sources = {
    ...Object.fromEntries(resources),
    frameworks: partnerFrameworks(options),
    coverage: partnerCoverage(sql),
    proofs: partnerProofs(sql),
    snapshots: partnerSnapshots(sql),
  };
  return { sources, snapshots: snapshotReads(sql), cursors };
}
