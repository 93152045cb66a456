import { fileURLToPath } from 'node:url';
import { canonical, type JsonValue } from '@sealgate/json';
import type { NewAsset } from '../domain/asset-ledger.ts';

export const programOf = (path: string) => fileURLToPath(new URL(`../../../ledger-chaincode/${path}`, import.meta.url));

export const asset = (id: string, type: string, data: JsonValue = {}): NewAsset => ({
  id,
  type,
  data,
  text: canonical(data),
});

let made = 0;
export const freshId = () => `f-${(made += 1)}`;

/** Our own contract on two channels, a third-party one, and mappings that lead nowhere. */
export const MAPPING = {
  mappings: [
    { type: 'ours.*', channel: 'acme.main', chaincode: 'records' },
    { type: 'kept.*', channel: 'acme.kept', chaincode: 'records', write: 'upsert' },
    {
      type: 'vehicle',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'CreateAsset', read: 'ReadAsset', query: 'GetAllAssets' },
      arguments: {
        write: ['{id}', '{data.color}', '{data.size}', '{data.owner}', '{data.value}'],
        read: ['{id}'],
        query: [],
      },
      idMember: 'ID',
    },
    {
      type: 'transfer',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'TransferAsset', read: 'ReadAsset', query: 'ReadAsset' },
      arguments: { write: ['{id}', '{data.owner}'], read: ['{id}'], query: ['{type}'] },
      words: { absent: ['unbekannt'] },
      idMember: 'ID',
    },
    {
      type: 'ranged',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'CreateAsset', read: 'ReadAsset', query: 'QueryAssets' },
      arguments: {
        write: ['{id}', '{data.color|"red"}', '{data.size|0}', '{data.owner|""}', '{data.value|0}'],
        read: ['{id}'],
        query: ['{"owner":"{filter.owner}"}', '{limit}', '{bookmark}'],
      },
      filters: ['owner'],
      idMember: 'ID',
      actions: {
        transfer: { transaction: 'TransferAsset', arguments: ['{id}', '{data.owner}'] },
        count: { transaction: 'CountAsset', arguments: ['{id}'] },
        remove: { transaction: 'DeleteAsset', arguments: ['{id}'] },
      },
      history: { transaction: 'GetAssetHistory', arguments: ['{id}'] },
    },
    {
      type: 'pin',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'SetPin', read: 'GetPin' },
      arguments: { write: ['{id}', 'pins'], read: ['{collection}', '{id}'] },
      transient: ['pin'],
      collections: { read: 'pins' },
      idMember: 'ID',
      actions: { hide: { transaction: 'SetPin', arguments: ['{id}', '_implicit_org_Org2MSP'] } },
    },
    ...['Org2MSP', 'Org9MSP'].map((mspId) => ({
      type: `pin.${mspId}`,
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'SetPin', read: 'GetPin' },
      arguments: { write: ['{id}', `_implicit_org_${mspId}`], read: ['{collection}', '{id}'] },
      transient: ['pin'],
      collections: { read: `_implicit_org_${mspId}` },
      idMember: 'ID',
    })),
    { type: 'both.*', channel: 'acme.main', chaincode: 'records', endorsers: ['Org2MSP', 'Org1MSP'] },
    {
      type: 'led',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'CountAsset', read: 'ReadAsset' },
      arguments: { write: ['{id}'], read: ['{id}'] },
      idMember: 'ID',
      endorsers: ['Org1MSP'],
      actions: { agree: { transaction: 'CountAsset', arguments: ['{id}'], endorsers: ['Org1MSP', 'Org2MSP'] } },
    },
    { type: 'theirs.*', channel: 'acme.main', chaincode: 'records', endorsers: ['Org2MSP'] },
    { type: 'third.*', channel: 'acme.main', chaincode: 'records', endorsers: ['Org1MSP', 'Org3MSP'] },
    { type: 'nobodys', channel: 'acme.main', chaincode: 'nowhere' },
    { type: 'misnamed', channel: 'acme.main', chaincode: 'records', contract: 'NoSuchContract' },
    {
      type: 'mistyped',
      channel: 'acme.main',
      chaincode: 'basic',
      transactions: { write: 'CreateAsst', read: 'ReadAsst', query: 'GetAllAssets' },
      arguments: { write: ['{id}'], read: ['{id}'], query: [] },
    },
  ],
};
