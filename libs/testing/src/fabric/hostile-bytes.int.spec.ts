import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { common } from '@hyperledger/fabric-protos';
import { failureOf, record, standInSuite } from './testing/stand-in-suite.ts';

const suite = standInSuite();

/** Sends raw bytes to a method; resolves with the answer or the error. */
function send(method: string, bytes: Uint8Array, stream: 'unary' | 'server' | 'bidi'): Promise<Buffer | ServiceError> {
  const client = new Client(suite.peer.url, credentials.createSsl(readFileSync(suite.peer.tlsCaFile!)));
  const same = (value: Buffer) => value;
  const options = { deadline: Date.now() + 2_000 };
  return new Promise<Buffer | ServiceError>((resolve) => {
    if (stream === 'unary') {
      client.makeUnaryRequest(method, same, same, Buffer.from(bytes), options, (error, value) =>
        resolve(error ?? value!),
      );
      return;
    }
    if (stream === 'server') {
      const call = client.makeServerStreamRequest(method, same, same, Buffer.from(bytes), options);
      call.on('data', resolve).on('error', resolve);
      return;
    }
    const call = client.makeBidiStreamRequest(method, same, same, options);
    call.on('data', resolve).on('error', resolve);
    call.write(Buffer.from(bytes));
  }).finally(() => client.close());
}

/** An unsigned envelope with a valid header and an invalid payload. */
function envelopeOfNonsense(): Uint8Array {
  const channelHeader = new common.ChannelHeader();
  channelHeader.setChannelId('main');
  const header = new common.Header();
  header.setChannelHeader(channelHeader.serializeBinary());
  const payload = new common.Payload();
  payload.setHeader(header);
  payload.setData(Buffer.from([0xff, 0xff, 0xff]));
  const envelope = new common.Envelope();
  envelope.setPayload(payload.serializeBinary());
  return envelope.serializeBinary();
}

describe('malformed bytes', () => {
  const nonsense = Buffer.from([0x0a, 0x03, 0xff, 0xff, 0xff, 0x12, 0x02, 0xff, 0xff]);

  it.each([
    ['/gateway.Gateway/Evaluate', 'unary'],
    ['/gateway.Gateway/Endorse', 'unary'],
    ['/gateway.Gateway/Submit', 'unary'],
    ['/gateway.Gateway/CommitStatus', 'unary'],
    ['/gateway.Gateway/ChaincodeEvents', 'server'],
    ['/protos.Deliver/Deliver', 'bidi'],
    ['/protos.Deliver/DeliverFiltered', 'bidi'],
  ] as const)('are refused by %s without affecting others', async (method, stream) => {
    for (const bytes of [Buffer.alloc(0), nonsense, envelopeOfNonsense()]) {
      const answer = await send(method, bytes, stream);
      // A block stream refuses with a status message, the others with the status of the call.
      if (stream === 'bidi') expect(answer).toBeInstanceOf(Uint8Array);
      else expect(answer).toMatchObject({ code: expect.any(Number) });
    }
    expect(await failureOf(suite.records.submitTransaction('createMany', record()))).toBeUndefined();
  });
});
