import { connectEventStream } from '../client/connect-event-stream.js';
import type { ConnectOptions } from '../client/connect-grpc-stream.js';
import type { InvocationRequest } from '../generated/invocation-request.js';
import type { RpcFunctionMetadataInit } from '../generated/rpc-function-metadata.js';
import type { StreamingMessage, StreamingMessageInit } from '../generated/streaming-message.js';
import type { TypedDataInit } from '../generated/typed-data.js';
import type { EventStream } from '../grpc/event-stream.js';
import { MessageInbox } from './message-inbox.js';
import { failure, invocationResponse, message, startStream, success } from './messages.js';

/** The responses of a scripted worker. Omitted parts succeed. */
export interface WorkerScript {
  readonly capabilities?: Readonly<Record<string, string>>;
  readonly functions?: readonly RpcFunctionMetadataInit[];
  /** Returns the result of an invocation. An error becomes its failure. */
  readonly invoke?: (request: InvocationRequest) => TypedDataInit | undefined | Promise<TypedDataInit | undefined>;
  /** Called first for every message. Returns a response, `'silence'` for none, or undefined for the default response. */
  readonly answer?: (message: StreamingMessage) => StreamingMessageInit | 'silence' | undefined;
}

/** A function worker that is driven by a test, over a real connection. */
export class ScriptedWorker {
  readonly workerId: string;
  readonly stream: EventStream;
  readonly inbox: MessageInbox;
  readonly #script: WorkerScript;

  private constructor(workerId: string, stream: EventStream, script: WorkerScript) {
    this.workerId = workerId;
    this.stream = stream;
    this.#script = script;
    this.inbox = new MessageInbox(stream, (received) => void this.#reply(received));
  }

  /** Connects and sends StartStream. */
  static async connect(
    options: ConnectOptions & {
      readonly workerId: string;
      readonly requestId?: string;
      readonly script?: WorkerScript;
    },
  ): Promise<ScriptedWorker> {
    const stream = await connectEventStream(options);
    const worker = new ScriptedWorker(options.workerId, stream, options.script ?? {});
    worker.send(startStream(options.workerId, options.requestId));
    return worker;
  }

  send(toSend: StreamingMessageInit): void {
    this.stream.send(toSend);
  }

  /** Ends the stream, as a worker does after WorkerTerminate. */
  async end(): Promise<void> {
    this.stream.end();
    await this.inbox.ended;
  }

  async #reply(received: StreamingMessage): Promise<void> {
    const answer = this.#script.answer?.(received) ?? (await this.#usualAnswer(received));
    if (answer && answer !== 'silence') this.send({ ...answer, requestId: answer.requestId || received.requestId });
  }

  async #usualAnswer(received: StreamingMessage): Promise<StreamingMessageInit | undefined> {
    const { capabilities = {}, functions = [] } = this.#script;
    switch (received.kind) {
      case 'workerInitRequest':
        return message('workerInitResponse', {
          capabilities,
          result: success,
          workerMetadata: { runtimeName: 'test' },
        });
      case 'functionsMetadataRequest':
        return message('functionMetadataResponse', { functionMetadataResults: functions, result: success });
      case 'functionLoadRequest':
        return message('functionLoadResponse', { functionId: received.value.functionId, result: success });
      case 'functionEnvironmentReloadRequest':
        return message('functionEnvironmentReloadResponse', { capabilities, result: success });
      case 'workerStatusRequest':
        return message('workerStatusResponse', {});
      case 'invocationRequest':
        return await this.#invoke(received.value);
      case 'workerTerminate':
        this.stream.end();
        return undefined;
      default:
        return undefined;
    }
  }

  async #invoke(request: InvocationRequest): Promise<StreamingMessageInit> {
    try {
      return invocationResponse(request.invocationId, await this.#script.invoke?.(request));
    } catch (error) {
      return invocationResponse(request.invocationId, undefined, failure(String(error)));
    }
  }
}
