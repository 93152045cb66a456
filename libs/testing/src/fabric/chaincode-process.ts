import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { peer } from '@hyperledger/fabric-protos';
import { freePort } from '@sealgate/local-services';
import { guardChild, type Guarded } from './guarded-child.ts';
import type { Simulation } from './simulation.ts';
import type { ChaincodeOptions } from './stand-in-types.ts';
import { until } from '../until.ts';

type Message = InstanceType<typeof peer.ChaincodeMessage>;
type Stream = ClientDuplexStream<Message, Message>;
const { Type } = peer.ChaincodeMessage;

/** Response of a chaincode. `status` is 200, or 400 and above for a refusal. */
export interface Execution {
  readonly status: number;
  readonly message: string;
  readonly payload: Uint8Array;
  /** The event it set, if any. */
  readonly event: InstanceType<typeof peer.ChaincodeEvent> | undefined;
}

interface Invocation {
  readonly channel: string;
  readonly transactionId: string;
  /** A serialized ChaincodeInput. */
  readonly input: Uint8Array;
  readonly proposal: InstanceType<typeof peer.SignedProposal>;
  readonly simulation: Simulation;
}

interface Running {
  readonly simulation: Simulation;
  readonly settle: (execution: Execution) => void;
  readonly fail: (error: Error) => void;
}

const START_TIMEOUT_MS = 30_000;

/** A stream without a greeting for this long is not connected to a chaincode. */
const GREETING_TIMEOUT_MS = 5_000;

/** Another process may take the free port before the chaincode listens on it. */
const PORT_TAKEN = /EADDRINUSE|No address added/;
const ATTEMPTS = 3;

/**
 * One chaincode service in its own process, and the peer's side of its stream: fabric-shim and fabric-gateway depend on
 * incompatible versions of the protocol within one process.
 */
export class ChaincodeProcess {
  readonly name: string;
  readonly #options: ChaincodeOptions;
  readonly #directory: string;
  readonly #executeTimeoutMs: number;
  #child: Guarded | undefined;
  #client: InstanceType<typeof peer.ChaincodeClient> | undefined;
  #stream: Stream | undefined;
  readonly #running = new Map<string, Running>();

  constructor(options: ChaincodeOptions, directory: string, executeTimeoutMs: number) {
    this.name = options.name;
    this.#options = options;
    this.#directory = directory;
    this.#executeTimeoutMs = executeTimeoutMs;
  }

  /** Resolves when the chaincode is ready. @throws Error with its output if it does not start. */
  async start(): Promise<void> {
    for (let attempt = 1; this.#child === undefined; attempt += 1) {
      const failure = await this.#startOnce();
      if (failure === undefined) return;
      if (attempt === ATTEMPTS || !PORT_TAKEN.test(failure.message)) throw failure;
    }
  }

  async #startOnce(): Promise<Error | undefined> {
    const address = `127.0.0.1:${await freePort()}`;
    const logFile = join(this.#directory, `${this.name}.log`);
    this.#child = guardChild(this.#spawn(address, logFile), logFile);
    const { child } = this.#child;
    try {
      await until(async () => child.exitCode !== null || (await this.#connect(address)), {
        timeoutMs: START_TIMEOUT_MS,
        what: 'its greeting',
      });
      if (this.#stream === undefined) throw new Error('It exited immediately.');
    } catch (cause) {
      const written = this.#child.written();
      await this.stop();
      return new Error(`Chaincode ${this.name} did not start: ${written}`, { cause });
    }
    return undefined;
  }

  /** SIGKILL. Running executions fail. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await child?.kill();
    this.#disconnect();
  }

  get pid(): number | undefined {
    return this.#child?.child.pid;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.child.kill(signal);
  }

  /** Rejects with Error if the chaincode is down, disconnects, breaks the protocol or takes too long. */
  async execute({ channel, transactionId, input, proposal, simulation }: Invocation): Promise<Execution> {
    const stream = this.#stream;
    if (stream === undefined) {
      throw new Error(`could not launch chaincode ${this.name}: connection to ${this.name} failed: connection refused`);
    }
    const key = keyOf(channel, transactionId);
    if (this.#running.has(key)) throw new Error(`txid: ${transactionId}(${channel}) exists`);
    const { promise, resolve, reject } = Promise.withResolvers<Execution>();
    const timer = setTimeout(
      () => reject(new Error('timeout expired while executing transaction')),
      this.#executeTimeoutMs,
    );
    this.#running.set(key, { simulation, settle: resolve, fail: reject });
    stream.write(message({ type: Type.TRANSACTION, payload: input, transactionId, channel, proposal }));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#running.delete(key);
    }
  }

  #spawn(address: string, logFile: string): ChildProcess {
    const log = openSync(logFile, 'a');
    try {
      return spawn(process.execPath, [this.#options.program], {
        cwd: this.#directory,
        env: {
          PATH: process.env['PATH'],
          ...this.#options.env,
          CHAINCODE_SERVER_ADDRESS: address,
          CHAINCODE_ID: `${this.name}:1.0`,
        },
        stdio: ['ignore', log, log],
      });
    } finally {
      closeSync(log);
    }
  }

  /** One attempt to open a stream and complete the greeting. */
  #connect(address: string): Promise<boolean> {
    const client = new peer.ChaincodeClient(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
    });
    const stream = client.connect();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const gone = () => {
      resolve(false);
      if (this.#stream === stream) this.#disconnect();
      else client.close();
    };
    stream.on('error', gone).on('end', gone);
    const timer = setTimeout(() => {
      stream.cancel();
      gone();
    }, GREETING_TIMEOUT_MS);
    stream.on('data', (received: Message) => {
      if (received.getType() !== Type.REGISTER) return this.#receive(stream, received);
      stream.write(message({ type: Type.REGISTERED }));
      stream.write(message({ type: Type.READY }));
      this.#client = client;
      this.#stream = stream;
      return resolve(true);
    });
    return promise.finally(() => clearTimeout(timer));
  }

  #disconnect(): void {
    const [client, stream] = [this.#client, this.#stream];
    this.#client = undefined;
    this.#stream = undefined;
    for (const { fail } of this.#running.values()) fail(new Error('chaincode stream terminated'));
    stream?.cancel();
    client?.close();
  }

  #receive(stream: Stream, received: Message): void {
    const [channel, transactionId] = [received.getChannelId(), received.getTxid()];
    const running = this.#running.get(keyOf(channel, transactionId));
    if (running === undefined) return;
    const type = received.getType();
    const payload = received.getPayload_asU8();
    if (type === Type.COMPLETED) {
      const response = peer.Response.deserializeBinary(payload);
      running.settle({
        status: response.getStatus(),
        message: response.getMessage(),
        payload: response.getPayload_asU8(),
        event: received.getChaincodeEvent(),
      });
    } else if (type === Type.ERROR) {
      running.fail(new Error(`transaction returned with failure: ${Buffer.from(payload).toString()}`));
    } else {
      stream.write(message({ ...reply(running.simulation, type, payload, transactionId), transactionId, channel }));
    }
  }
}

function reply(simulation: Simulation, type: number, payload: Uint8Array, transactionId: string) {
  try {
    return { type: Type.RESPONSE, payload: simulation.answer(type, payload) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const name = Object.entries(Type).find(([, value]) => value === type)?.[0] ?? String(type);
    return { type: Type.ERROR, payload: Buffer.from(`${name} failed: transaction ID: ${transactionId}: ${reason}`) };
  }
}

function message({
  type,
  payload,
  transactionId = '',
  channel = '',
  proposal,
}: {
  readonly type: (typeof Type)[keyof typeof Type];
  readonly payload?: Uint8Array;
  readonly transactionId?: string;
  readonly channel?: string;
  readonly proposal?: InstanceType<typeof peer.SignedProposal>;
}): Message {
  const made = new peer.ChaincodeMessage();
  made.setType(type);
  if (payload !== undefined) made.setPayload(payload);
  made.setTxid(transactionId);
  made.setChannelId(channel);
  if (proposal !== undefined) made.setProposal(proposal);
  return made;
}

const keyOf = (channel: string, transactionId: string) => `${channel}\u0000${transactionId}`;
