import { describe, expect, it } from '@jest/globals';
import { canonical, type JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import { HeldResult } from './mcp-endpoint.ts';

const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
const jsonOf = (value: object): string => canonical(JSON.parse(JSON.stringify(value)) as JsonValue);

describe('a held result', () => {
  it('becomes text and structured content of the message, whatever its content', () => {
    fc.assert(
      fc.property(objects, fc.string(), (value, id) => {
        const json = jsonOf(value);
        const held = new HeldResult();
        const message = JSON.stringify({ result: held.hold(Buffer.from(json)), jsonrpc: '2.0', id });
        const filled: unknown = JSON.parse(held.fillIn(message).toString());
        const structuredContent = JSON.parse(json) as unknown;
        expect(filled).toEqual({
          result: { content: [{ type: 'text', text: json }], structuredContent },
          jsonrpc: '2.0',
          id,
        });
      }),
    );
  });

  it('escapes quotes and backslashes and keeps UTF-8', () => {
    const held = new HeldResult();
    const json = '{"a\\"b":"\\\\ \\u0000 \u2028 \u007f Zürich 😀"}';
    const filled = held.fillIn(JSON.stringify(held.hold(Buffer.from(json)))).toString();
    expect(filled).toBe(`{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${json}}`);
  });

  it('returns a message without placeholders unchanged', () => {
    const held = new HeldResult();
    expect(held.fillIn('{"error":{}}')).toBe('{"error":{}}');
    held.hold(Buffer.from('{}'));
    expect(held.fillIn('{"error":{}}')).toBe('{"error":{}}');
  });

  it('throws if the SDK writes only one placeholder', () => {
    const held = new HeldResult();
    const { content } = held.hold(Buffer.from('{}'));
    expect(() => held.fillIn(JSON.stringify({ content }))).toThrow('follows its text');
  });
});
