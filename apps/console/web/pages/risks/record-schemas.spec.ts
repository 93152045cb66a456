import { describe, expect, it } from '@jest/globals';
import { fieldsOf, membersOf, valuesOf } from './record-schemas.ts';
import type { Kind } from './risk-api.ts';

/** The fields of a form that are listed, in its order: a model may gain others. */
function listed(kind: Kind, use: 'new' | 'change', fields: readonly string[]): string[] {
  const all = fieldsOf(kind, use).map((field) => {
    const marks = `${field.required ? '!' : ''}${field.omitted ? '?' : ''}`;
    return `${field.label}${marks}: ${field.kind}${field.max === undefined ? '' : ` ${field.max}`}`;
  });
  return all.filter((field) => fields.includes(field));
}

const FILTERED = ['Department: line 100', 'Owner?: line 200', 'Sensitive?: flag'];

describe('the form of', () => {
  it('a risk has the members that people set, in order', () => {
    const fields = [
      'Title!: line 200',
      'Reference: line 64',
      'Category!: line 100',
      'Description: text 10000',
      'Inherent rating!: rating',
      'Current rating?: rating',
      'Residual rating: rating',
      'Status?: choice',
      'Accepted until?: time',
      'Treatment?: choice',
      'Treatment plan: text 10000',
      'Review?: choice',
      'Next review: time',
      ...FILTERED,
      'Assets?: ids',
      'Controls?: ids',
      'Evidence?: ids',
    ];
    expect(listed('risks', 'new', fields)).toEqual(fields);
    expect(listed('risks', 'change', fields)).toEqual(fields);
    expect(fieldsOf('risks', 'new').map(({ name }) => name)).not.toContain('identifiedAt');
  });

  it('a control, an asset and a policy', () => {
    const control = [
      ...['Title!: line 200', 'Reference: line 64', 'Description: text 10000', 'Status?: choice'],
      ...['Requirements?: requirements', 'Last tested: time', 'Test result: choice'],
    ];
    expect(listed('controls', 'new', control)).toEqual(control);
    const asset = [
      ...['Name!: line 200', 'Reference: line 64', 'Type!: line 100', 'Criticality?: choice', 'Status?: choice'],
      ...['Data classification: line 100', 'Environment: line 100', ...FILTERED, 'Controls?: ids'],
    ];
    expect(listed('assets', 'change', asset)).toEqual(asset);
    const policy = [
      ...['Title!: line 200', 'Status?: choice', 'Text!: text 200000'],
      ...['Approved: time', 'Effective: time', 'Next review: time'],
    ];
    expect(listed('policies', 'new', policy)).toEqual(policy);
  });

  it('evidence has kind, state and fingerprint only for new evidence', () => {
    const described = [
      ...['Size in bytes: number', 'Media type: line', 'Source: line 200', 'How it was collected: line 200'],
      ...['Observed: period', 'Effective: time', 'Valid until: time', ...FILTERED, 'Controls?: ids'],
    ];
    const all = ['Title!: line 200', 'Kind!: choice', 'State?: choice', 'SHA-256: line', ...described];
    expect(listed('evidence', 'new', all)).toEqual(all);
    expect(listed('evidence', 'change', all)).toEqual(['Title!: line 200', ...described]);
  });

  it('any record has hints', () => {
    const hints = fieldsOf('risks', 'new').map(({ name, hint }) => [name, hint]);
    expect(Object.fromEntries(hints)).toMatchObject(
      Object.fromEntries([
        ['refId', 'What your organisation calls it.'],
        ['acceptance', 'Needed for the status accepted.'],
        ['ownerId', 'Id of a person; left empty: you.'],
        ['sensitive', 'Seen by its owner, and by who may read sensitive rows.'],
        ...['assetIds', 'controlIds', 'evidenceIds'].map((name) => [name, 'Search by title, name, reference or id.']),
      ]),
    );
  });
});

describe('selection lists', () => {
  it('begin with the default treatment, and have the states of evidence in the order of its life', () => {
    expect(valuesOf('Treatment')).toEqual(['undecided', 'mitigate', 'accept', 'avoid', 'transfer']);
    expect(valuesOf('EvidenceState')).toEqual([
      ...['requested', 'collected', 'in_review', 'approved', 'expiring', 'expired'],
      ...['rejected', 'superseded', 'revoked', 'not_applicable'],
    ]);
  });
});

describe('a record', () => {
  it.each([
    ['risks', ['identifiedAt', 'version', 'createdAt', 'updatedAt']],
    ['controls', ['createdAt', 'updatedAt']],
    ['policies', ['version', 'bodySha256', 'createdAt', 'updatedAt']],
    [
      'evidence',
      [
        ...['kind', 'state', 'sha256', 'version', 'previousId', 'collectedBy', 'receivedAt', 'reviewedBy'],
        ...['reviewedAt', 'reviewReason', 'ledgerRecordId', 'createdAt', 'updatedAt'],
      ],
    ],
  ] as const)('of %s shows what its form has, then the rest', (kind, rest) => {
    const asked = fieldsOf(kind, 'change').map(({ name }) => name);
    const names = membersOf(kind).map(({ name }) => name);
    expect(names.filter((name) => !asked.includes(name))).toEqual(rest);
    expect(names.slice(0, -rest.length)).toEqual(asked.filter((name) => kind !== 'risks' || name !== 'acceptance'));
  });
});
