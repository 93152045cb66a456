import { MappingError, parseMappings, type MappingRules } from '../domain/parse-mappings.ts';

export const fabric: MappingRules = { driver: 'fabric', defaultChannel: undefined };
export const embedded: MappingRules = { driver: 'embedded', defaultChannel: undefined };
export const ours = { type: 'asset', channel: 'acme.main', chaincode: 'records' };
export const foreign = {
  type: 'vehicle',
  channel: 'acme.main',
  chaincode: 'basic',
  transactions: { write: 'CreateAsset', read: 'ReadAsset', query: 'GetAllAssets' },
  arguments: { write: ['{id}', '{data.color}'], read: ['{id}'], query: [] },
};

export const textOf = (...mappings: unknown[]): string => JSON.stringify({ mappings });

export function faultsOf(text: string, rules: MappingRules): readonly string[] {
  try {
    parseMappings(text, rules);
    return [];
  } catch (error) {
    if (error instanceof MappingError) return error.faults;
    throw error;
  }
}
