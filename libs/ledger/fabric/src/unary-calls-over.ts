import { status, type CallOptions, type Client, type requestCallback } from '@grpc/grpc-js';
import { CallFailure } from './call-failure.ts';
import type { GrpcConnection } from './grpc-connection.ts';

/** Of the forms that a unary call has in grpc-js, the one that the gateway client uses. */
type UnaryArguments<Request, Answer> = [
  method: string,
  serialize: (value: Request) => Buffer,
  deserialize: (bytes: Buffer) => Answer,
  argument: Request,
  /** Each of the driver's calls has a deadline. */
  options: CallOptions,
  callback: requestCallback<Answer>,
];

/** What a client of grpc-js makes unary calls by, over a connection of ours. Nobody looks at what that returns. */
export function unaryCallsOver(connection: GrpcConnection): Client['makeUnaryRequest'] {
  const call = <Request, Answer>(...args: UnaryArguments<Request, Answer>): void => {
    const [method, serialize, deserialize, argument, { deadline }, callback] = args;
    connection
      .call(method, serialize(argument), Number(deadline) - Date.now())
      .then((bytes) => read(bytes, deserialize))
      .then(
        (answer) => callback(null, answer),
        (failure: CallFailure) => callback(failure),
      );
  };
  return call as unknown as Client['makeUnaryRequest'];
}

/** @throws CallFailure. */
function read<Answer>(bytes: Buffer, deserialize: (bytes: Buffer) => Answer): Answer {
  try {
    return deserialize(bytes);
  } catch {
    throw new CallFailure(status.INTERNAL, 'The peer answered with a message that cannot be read.');
  }
}
