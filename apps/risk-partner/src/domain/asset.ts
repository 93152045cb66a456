import { defined } from '@sealgate/json';
import { timeText, type FilteredDoc, type Kind } from './resource.ts';

export const CRITICALITIES = ['low', 'medium', 'high', 'critical'] as const;
export const ASSET_STATUSES = ['planned', 'active', 'retired'] as const;

export interface Asset extends FilteredDoc {
  readonly refId: string | null;
  readonly name: string;
  readonly type: string;
  readonly criticality: (typeof CRITICALITIES)[number];
  readonly dataClassification: string | null;
  readonly environment: string | null;
  readonly status: (typeof ASSET_STATUSES)[number];
  readonly controlIds: readonly string[];
}

export interface AssetChange {
  readonly refId?: string | null;
  readonly name?: string;
  readonly type?: string;
  readonly criticality?: Asset['criticality'];
  readonly dataClassification?: string | null;
  readonly environment?: string | null;
  readonly department?: string | null;
  readonly ownerId?: string;
  readonly sensitive?: boolean;
  readonly status?: Asset['status'];
  readonly controlIds?: readonly string[];
}

export type NewAsset = AssetChange & Required<Pick<AssetChange, 'name' | 'type'>>;

export const assetKind: Kind<Asset, NewAsset, AssetChange> = {
  name: 'asset',
  collection: 'assets',
  prefix: 'ast_',
  rowFiltered: true,
  links: { controlIds: 'control' },
  make(body, { id, personId, nowMs }) {
    const now = timeText(nowMs);
    return {
      id,
      refId: null,
      criticality: 'medium',
      dataClassification: null,
      environment: null,
      department: null,
      ownerId: personId,
      sensitive: false,
      status: 'active',
      controlIds: [],
      ...defined(body),
      name: body.name,
      type: body.type,
      createdAt: now,
      updatedAt: now,
    };
  },
  change: (asset, body, { nowMs }) => ({ ...asset, ...defined(body), updatedAt: timeText(nowMs) }),
  freeText: ['refId', 'name', 'type', 'dataClassification', 'environment'],
  partnerItem: (asset) => ({
    id: asset.id,
    refId: asset.refId,
    name: asset.name,
    type: asset.type,
    criticality: asset.criticality,
    dataClassification: asset.dataClassification,
    environment: asset.environment,
    status: asset.status,
    controlIds: [...asset.controlIds],
    createdAt: asset.createdAt,
    updatedAt: asset.updatedAt,
  }),
  facets: ({ type, criticality, controlIds }) => [
    `type:${type}`,
    `criticality:${criticality}`,
    ...controlIds.map((id) => `link:${id}`),
  ],
  view: (asset) => asset,
};
