import { describe, expect, it } from '@jest/globals';
import { publicDescription } from './openapi.ts';

interface Described {
  readonly paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
  readonly components: { readonly schemas: Record<string, { readonly enum?: readonly string[] }> };
}

describe('openapi.json', () => {
  it('lists every failure code of an asset, for responses and for jobs', () => {
    const { paths, components } = publicDescription() as unknown as Described;
    // By hand, from the specification of POST /api/assets and of actions.
    const known = [
      'CONTRACT_REFUSED',
      ...['INVALID_REQUEST', 'LEDGER_UNAVAILABLE', 'NOT_ATTEMPTED', 'OUTCOME_UNKNOWN', 'RECORD_CONFLICT'],
      'UNKNOWN_CHAINCODE',
    ];
    expect(components.schemas['AssetFailureCode']?.enum?.toSorted()).toEqual(known);
    const { responses } = paths['/api/assets']!['post']!;
    for (const answer of [responses['200'], responses['202'], paths['/api/jobs/{id}']!['get']!.responses['200']]) {
      for (const code of known) expect(answer?.description).toContain(`\`${code}\`: `);
    }
  });
});
