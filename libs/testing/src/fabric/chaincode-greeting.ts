import { credentials } from '@grpc/grpc-js';
import { peer } from '@hyperledger/fabric-protos';

/** PEM. Without `cert` and `key` the client sends no certificate. */
interface GreetingTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Connects to a chaincode service and returns the chaincode id of its greeting; rejects if there is no stream. */
export function chaincodeGreeting(address: string, tls?: GreetingTls): Promise<string> {
  const buffer = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem));
  const channel =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(buffer(tls.ca), buffer(tls.key), buffer(tls.cert));
  const client = new peer.ChaincodeClient(address, channel);
  const stream = client.connect();
  return new Promise<string>((resolve, reject) => {
    stream.on('error', reject);
    stream.on('data', (message: InstanceType<typeof peer.ChaincodeMessage>) =>
      resolve(peer.ChaincodeID.deserializeBinary(message.getPayload_asU8()).getName()),
    );
  }).finally(() => {
    stream.cancel();
    client.close();
  });
}
