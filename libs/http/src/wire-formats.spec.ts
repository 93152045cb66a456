import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { isJsonMediaType } from './read-body.ts';
import { comparePaths, pathTemplate } from './paths.ts';
import { parseQuery } from './check-shape.ts';
import { headerValues } from './header-values.ts';

describe('isJsonMediaType', () => {
  it('is fast for any input', () => {
    const pieces = fc.constantFrom('application/json', ';', ' ', '\t', 'charset', '=', 'utf-8', '"', '\\', 'x');
    const type = fc.array(pieces, { maxLength: 200 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(type, fc.boolean(), (text, orSuffix) => typeof isJsonMediaType(text, orSuffix) === 'boolean'),
    );
    const started = performance.now();
    expect(isJsonMediaType(`application/json${'; '.repeat(450)}x`)).toBe(false);
    expect(isJsonMediaType(`application/json;${'a="\\"'.repeat(200)}`)).toBe(false);
    expect(isJsonMediaType(`application/json;${' '.repeat(5000)}`)).toBe(false);
    expect(isJsonMediaType(`a/${'+json'.repeat(200)}x`, true)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('headerValues', () => {
  it('returns all values in order, in any case', () => {
    const raw = ['Host', 'a', 'X-A', '1', 'x-a', '2', 'X-B', '3'];
    expect(headerValues(raw, 'x-a')).toEqual(['1', '2']);
    expect(headerValues(raw, 'x-c')).toEqual([]);
  });
});

describe('parseQuery', () => {
  it('parses what URLSearchParams writes', () => {
    const known = new Set(['a', 'b', 'limit']);
    const query = fc.dictionary(fc.constantFrom(...known), fc.string());
    fc.assert(
      fc.property(query, (values) => {
        expect(parseQuery(`/x?${new URLSearchParams(values)}`, known)).toEqual({ values, faults: [] });
      }),
    );
  });

  it('reports at most a hundred faults', () => {
    const url = `/x?${Array.from({ length: 1000 }, (_, i) => `p${i}=1`).join('&')}`;
    expect(parseQuery(url, new Set()).faults).toHaveLength(100);
  });
});

describe('paths', () => {
  it('are sorted with literal segments first', () => {
    const paths = ['/*rest', '/:a', '/v1/:b', '/v1/x', '/v1/*rest', '/:a/y'];
    const sorted = [...paths].sort(comparePaths);
    expect(sorted.indexOf('/v1/x')).toBeLessThan(sorted.indexOf('/v1/:b'));
    expect(sorted.indexOf('/v1/:b')).toBeLessThan(sorted.indexOf('/v1/*rest'));
    expect(sorted.indexOf('/v1/*rest')).toBeLessThan(sorted.indexOf('/:a/y'));
    expect(sorted.at(-1)).toBe('/*rest');
  });

  it('are sorted independent of input order', () => {
    const segment = fc.constantFrom('a', ':p', '*rest');
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
    const ranks = (paths: string[]) => paths.map((text) => pathTemplate(text).replaceAll(/[a-z]+/g, 'x'));
    fc.assert(
      fc.property(fc.array(path, { maxLength: 12 }), (paths) => {
        const sorted = [...paths].sort(comparePaths);
        expect(ranks([...paths].reverse().sort(comparePaths))).toEqual(ranks(sorted));
        for (const later of sorted) expect(comparePaths(sorted[0] ?? '', later)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('are rendered as templates', () => {
    expect(pathTemplate('/v1/cases/:caseId/x.json/*rest')).toBe('/v1/cases/{caseId}/x.json/{rest}');
  });
});
