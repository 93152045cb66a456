import { enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import * as s from '../schemas.ts';
import { changeOf, itemMembers, labelled, newOf, picked, setBy, shown, unsetOf } from './model.ts';
import { docMembers, filterMembers, refId, timeText, type Kind } from './resource.ts';

export const Criticality = enumOf('Criticality', ['low', 'medium', 'high', 'critical']);
const AssetStatus = enumOf('AssetStatus', ['planned', 'active', 'retired']);

const Asset = Type.Object({
  id: s.Text,
  name: labelled('Name', s.Title),
  refId,
  type: labelled('Type', s.Short),
  criticality: labelled('Criticality', Criticality),
  status: labelled('Status', AssetStatus),
  dataClassification: labelled('Data classification', s.OrNull(s.Short)),
  environment: labelled('Environment', s.OrNull(s.Short)),
  ...filterMembers,
  controlIds: labelled('Controls', s.Ids),
  ...docMembers,
});
type Asset = Static<typeof Asset>;

export const NewAsset = named('NewAsset', newOf(Asset.properties, ['name', 'type']));
type NewAsset = Static<typeof NewAsset>;
export const AssetChange = named('AssetChange', changeOf(NewAsset));
type AssetChange = Static<typeof AssetChange>;
export const AssetView = named('AssetView', Type.Object(shown(Asset.properties)));

const texts = ['refId', 'name', 'type', 'dataClassification', 'environment'] as const;

/** What partners see. */
export const AssetItem = named(
  'Asset',
  Type.Object(
    itemMembers(Asset, { texts, others: ['id', 'criticality', 'status', 'controlIds', 'createdAt', 'updatedAt'] }),
  ),
);

const unset = unsetOf(Asset);

export const assetKind: Kind<Asset, NewAsset, AssetChange> = {
  name: 'asset',
  collection: 'assets',
  prefix: 'ast_',
  rowFiltered: true,
  unset,
  links: { controlIds: 'control' },
  make(body, { id, personId, nowMs }) {
    const now = timeText(nowMs);
    const { name, type } = body;
    return {
      ...unset,
      id,
      criticality: 'medium',
      status: 'active',
      ownerId: personId,
      ...setBy(NewAsset, body),
      name,
      type,
      createdAt: now,
      updatedAt: now,
    };
  },
  change: (asset, body, { nowMs }) => ({ ...asset, ...setBy(NewAsset, body), updatedAt: timeText(nowMs) }),
  freeText: texts,
  partnerItem: (asset) => picked(AssetItem, asset),
  facets: ({ type, criticality, controlIds }) => [
    `type:${type}`,
    `criticality:${criticality}`,
    ...controlIds.map((id) => `link:${id}`),
  ],
  sorts: ['createdAt', 'updatedAt', 'refId', 'name'],
  view: (asset) => asset,
};
