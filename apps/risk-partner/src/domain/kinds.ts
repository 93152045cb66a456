import { assetKind } from './asset.ts';
import { controlKind } from './control.ts';
import { evidenceKind } from './evidence.ts';
import { policyKind } from './policy.ts';
import type { AnyKind, KindName } from './resource.ts';
import { riskKind } from './risk.ts';

/** Every kind by its name. */
export const KIND_OF: Readonly<Record<KindName, AnyKind>> = {
  risk: riskKind,
  evidence: evidenceKind,
  asset: assetKind,
  control: controlKind,
  policy: policyKind,
};
