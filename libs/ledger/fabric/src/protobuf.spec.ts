import { describe, expect, it } from '@jest/globals';
import { common } from '@hyperledger/fabric-protos';
import fc from 'fast-check';
import { BackwardWriter, contentAt, fieldOf, MalformedMessageError } from './protobuf.ts';

const buffer = (most: number) => fc.uint8Array({ maxLength: most }).map((array) => Buffer.from(array));

describe('a message that is written backwards', () => {
  it('is what the library reads, whatever its fields hold', () => {
    fc.assert(
      fc.property(buffer(300), buffer(20_000), fc.string(), (signature, creator, channel) => {
        const writer = new BackwardWriter(30_000);
        const end = writer.end;
        writer.bytes(2, signature);
        writer.bytes(1, creator);
        const header = common.SignatureHeader.deserializeBinary(writer.since(end));
        expect(Buffer.compare(header.getCreator_asU8(), creator)).toBe(0);
        expect(Buffer.compare(header.getNonce_asU8(), signature)).toBe(0);
        const text = writer.end;
        writer.text(4, channel);
        // A lone surrogate has no UTF-8, and becomes U+FFFD either way.
        expect(common.ChannelHeader.deserializeBinary(writer.since(text)).getChannelId()).toBe(channel.toWellFormed());
      }),
    );
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, 2 ** 53 - 1])('holds the number %d', (number) => {
    const writer = new BackwardWriter(16);
    const end = writer.end;
    writer.number(6, number);
    expect(common.ChannelHeader.deserializeBinary(writer.since(end)).getEpoch()).toBe(number);
  });
});

describe('a message that is read', () => {
  it('gives the fields that the library wrote, behind others of every kind', () => {
    fc.assert(
      fc.property(buffer(20_000), fc.nat(), (extension, epoch) => {
        const header = new common.ChannelHeader();
        header.setType(3);
        header.setVersion(-1);
        header.setEpoch(epoch);
        header.setExtension$(extension);
        const payload = new common.Header();
        payload.setChannelHeader(header.serializeBinary());
        const message = Buffer.from(payload.serializeBinary());
        const found = fieldOf(fieldOf(message, 1)!, 7);
        expect(found ?? Buffer.of()).toEqual(extension);
      }),
    );
  });

  it('skips fields of a fixed length', () => {
    const fixed64 = [0x09, 1, 2, 3, 4, 5, 6, 7, 8];
    const fixed32 = [0x15, 1, 2, 3, 4];
    expect(fieldOf(Buffer.from([...fixed64, ...fixed32, 0x1a, 1, 0x61]), 3)).toEqual(Buffer.from('a'));
  });

  it('says which field of a path is missing', () => {
    expect(() => contentAt(Buffer.from([0x0a, 0]), [1, 2])).toThrow('Field 2 of 1.2 is missing.');
  });

  it.each([
    ['a field that ends behind it', [0x0a, 2, 1]],
    ['a length without an end', [0x0a, 0xff]],
    ['a number that never ends', Array<number>(12).fill(0xff)],
    ['a fixed number that ends behind it', [0x09, 1, 2]],
    ['a group, which nobody writes any more', [0x0b, 0x0c]],
  ])('refuses %s', (_what, bytes) => {
    expect(() => fieldOf(Buffer.from(bytes), 9)).toThrow(MalformedMessageError);
  });

  it('of random bytes gives a part of them, or refuses them', () => {
    fc.assert(
      fc.property(buffer(60), fc.integer({ min: 1, max: 15 }), (bytes, field) => {
        try {
          expect(bytes.includes(fieldOf(bytes, field) ?? Buffer.of())).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessageError);
        }
      }),
    );
  });
});
