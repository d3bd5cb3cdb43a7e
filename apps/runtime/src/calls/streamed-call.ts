import { PassThrough, Writable } from 'node:stream';
import { isCodedError } from '@drover/contracts';
import { capability, hasCapability } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { HttpAnswer } from '../bindings/http-answer.js';
import { httpBindingData, httpInputs } from '../bindings/http-inputs.js';
import { streamFailed } from '../exchanges/errors.js';
import type { Exchange, PassedExchange } from '../exchanges/exchange.js';
import type { HttpApplication } from '../routes/http-application.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { StreamedInvocation, type StreamingOptions } from '../exchanges/streamed-invocation.js';
import type { ServeOptions } from '../exchanges/serve-options.js';
import { answerOf, callFailed } from './call-failed.js';
import { answeredOutput, type CallOutput } from './call-output.js';
import type { CallRequest } from './call-request.js';

/** Calls a function whose workers take requests on servers of their own: what they answer there is kept until it is whole. */
export async function callThroughStream(
  exchange: Exchange,
  { invoker }: HttpApplication,
  definition: FunctionDefinition,
  { triggered, host, address, body, trace }: CallRequest,
  options: StreamingOptions & Pick<ServeOptions, 'bodies'>,
): Promise<CallOutput> {
  const response = new KeptResponse(options.bodies.bytes);
  const request = Object.assign(new PassThrough(), {
    url: address,
    headers: triggered.headers,
    socket: exchange.request.socket,
  });
  const { signal } = exchange;
  const passed: PassedExchange = { method: triggered.method, request, response, extraHeaders: [], signal };
  const streamed = new StreamedInvocation(passed, options, true);
  try {
    const outcome = await invoker.invoke({
      definition,
      inputs: (capabilities) => httpInputs(definition.trigger, triggered, capabilities),
      bindingData: () => httpBindingData(triggered),
      trace,
      signal: streamed.signal,
      onAssigned: (assigned) => {
        if (hasCapability(assigned.capabilities, capability.httpUri))
          streamed.begin(assigned, { host, scheme: 'http', body });
      },
    });
    // That the stream broke is the reason then, and not that the invocation was called off for it.
    if (outcome.kind !== 'succeeded' && !isCodedError(streamed.signal.reason))
      throw callFailed(definition.name, outcome);
    if (!streamed.isAnswering && outcome.kind === 'succeeded')
      return answeredOutput(answerOf(definition, outcome.response));
    await streamed.settle(outcome);
    const answer = response.answer;
    if (!answer) throw new Refused(streamFailed({ reason: 'it broke off its answer' }), outcome.invocationId);
    return answeredOutput(answer);
  } finally {
    streamed.end();
    response.destroy();
  }
}

/** An answer that is kept instead of being sent. */
class KeptResponse extends Writable {
  readonly #limitBytes: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #status = 0;
  #headers: readonly string[] = [];

  constructor(limitBytes: number) {
    super();
    this.#limitBytes = limitBytes;
    // Whoever writes to it hears of it by its end.
    this.on('error', () => undefined);
  }

  /** Undefined: it has not come to its end. */
  get answer(): HttpAnswer | undefined {
    if (!this.writableFinished) return undefined;
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks, this.#length) };
  }

  writeHead(status: number, headers: readonly string[]): void {
    this.#status = status;
    const isKept = (index: number): boolean => headers[index - (index % 2)]?.toLowerCase() !== 'content-length';
    this.#headers = headers.filter((_, index) => isKept(index));
  }

  flushHeaders(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#length += chunk.byteLength;
    if (this.#length > this.#limitBytes) return done(new Error(`it is longer than ${this.#limitBytes} bytes`));
    this.#chunks.push(chunk);
    done();
  }
}
