import { capability, hasCapability, wholeAnswerHeader } from '@drover/function-rpc';
import type { AnswerBegin, AnswerSink } from '@drover/http-edge';
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
import { answeredOutput, withColdStart, type CallOutput } from './call-output.js';
import type { CallRequest } from './call-request.js';

/** Calls a function through the HTTP server of its worker. The response is buffered until it is complete. */
export async function callThroughStream(
  exchange: Exchange,
  { invoker, bodyLimitBytes }: HttpApplication,
  definition: FunctionDefinition,
  { triggered, host, address, body, trace, executionId: messageId }: CallRequest,
  options: StreamingOptions & Pick<ServeOptions, 'bodies'>,
): Promise<CallOutput> {
  const sink = new BufferedAnswer(options.bodies.bytes);
  const { signal, remoteAddress } = exchange;
  const { method, headers } = triggered;
  const passed: PassedExchange = {
    method,
    url: address,
    headers,
    remoteAddress,
    body: undefined,
    sink,
    extraHeaders: [],
    signal,
  };
  const streamed = new StreamedInvocation(passed, options);
  try {
    const running = invoker.invoke({
      definition,
      inputs: (capabilities) => httpInputs(definition.trigger, triggered, capabilities),
      bindingData: () => httpBindingData(triggered),
      messageId,
      trace,
      signal: streamed.signal,
      onAssigned: (assigned) => {
        if (hasCapability(assigned.capabilities, capability.httpUri))
          streamed.begin(assigned, {
            host,
            scheme: 'http',
            body,
            bodyLimitBytes: bodyLimitBytes ?? options.bodies.bytes,
            holdsAnswer: false, // the answer is buffered, and read after the outcome
          });
      },
    });
    const outcome = await streamed.outcomeOf(running);
    if (outcome.kind !== 'succeeded') {
      streamed.abort();
      throw callFailed(definition.name, outcome);
    }
    if (!streamed.isAnswering || !(await streamed.settle(outcome, definition)))
      return withColdStart(answeredOutput(answerOf(definition, outcome.response)), outcome);
    const answer = sink.whole;
    if (!answer) throw new Refused(streamFailed({ reason: 'it broke off its answer' }), outcome.invocationId);
    return withColdStart(answeredOutput(answer), outcome);
  } finally {
    streamed.end();
  }
}

/** The length is that of the output, and the mark is for this runtime alone. */
const dropped: ReadonlySet<string> = new Set(['content-length', wholeAnswerHeader]);

/** Buffers a response instead of sending it. */
class BufferedAnswer implements AnswerSink {
  readonly #limitBytes: number;
  readonly #parts: Buffer[] = [];
  #length = 0;
  #status = 0;
  #headers: readonly string[] = [];
  #isComplete = false;
  #isBroken = false;
  onDrain: (() => void) | undefined;
  onLeft: (() => void) | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isOver(): boolean {
    return this.#isComplete || this.#isBroken;
  }

  /** Undefined until the response is complete. */
  get whole(): HttpAnswer | undefined {
    if (!this.#isComplete || this.#isBroken) return undefined;
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#parts, this.#length) };
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    this.begin(begin, headers);
    if (body) this.write(body);
    this.end();
  }

  begin({ status }: AnswerBegin, headers: readonly string[]): void {
    this.#status = status;
    const isKept = (index: number): boolean => !dropped.has(headers[index - (index % 2)]?.toLowerCase() ?? '');
    this.#headers = headers.filter((_, index) => isKept(index));
  }

  write(bytes: Buffer): boolean {
    this.#length += bytes.byteLength;
    if (this.#length <= this.#limitBytes) this.#parts.push(bytes);
    else if (!this.#isBroken) this.#leave();
    return true;
  }

  end(): void {
    this.#isComplete = true;
  }

  destroy(): void {
    this.#isBroken = true;
  }

  /** The response exceeds the limit: the rest is discarded. */
  #leave(): void {
    this.#isBroken = true;
    this.#parts.length = 0;
    this.onLeft?.();
  }
}
