import { runtimeCalls, type RuntimeIndexAnswer, type RuntimeIndexRequest } from '@drover/contracts';
import type { RuntimeConnection } from '@drover/dispatchers';
import { headerLine } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { applicationNotIndexed } from './errors.js';

export interface FunctionIndexerOptions {
  readonly connection: Pick<RuntimeConnection, 'endpoint' | 'doubt' | 'isConfigured'>;
  readonly clock: Pick<Clock, 'after'>;
}

/** A worker starts, loads the whole app and ends again. */
const timeoutMs = 120_000;

/** Has a runtime read the functions of a version with a worker that it throws away. */
export class FunctionIndexer {
  readonly #options: FunctionIndexerOptions;

  constructor(options: FunctionIndexerOptions) {
    this.#options = options;
  }

  /** Throws APPLICATION_NOT_INDEXED, which is retryable, if no runtime answers. */
  async index(request: RuntimeIndexRequest): Promise<RuntimeIndexAnswer> {
    const { applicationId } = request;
    const { status, text } = await this.#post(request);
    const answer = status === 200 ? parseAnswer(text) : undefined;
    if (!answer) throw applicationNotIndexed({ applicationId, reason: `the runtime answered ${status}` });
    return answer;
  }

  #post(request: RuntimeIndexRequest): Promise<{ readonly status: number; readonly text: string }> {
    const { connection, clock } = this.#options;
    const { applicationId } = request;
    const endpoint = connection.endpoint();
    if (!endpoint) {
      const reason = connection.isConfigured ? 'the runtime has not started yet' : 'no runtime is configured';
      return Promise.reject(applicationNotIndexed({ applicationId, reason }));
    }
    const head = endpoint.head('POST', runtimeCalls.indexesPath) + headerLine('content-type', 'application/json');
    return new Promise((resolve, reject) => {
      const call = endpoint.call({ head, body: JSON.stringify(request) }, (end) => {
        cancel();
        if ('status' in end) return resolve({ status: end.status, text: end.body?.toString('utf8') ?? '' });
        connection.doubt();
        reject(applicationNotIndexed({ applicationId, reason: 'the runtime does not answer' }, end.error));
      });
      const cancel = clock.after(timeoutMs, () => call.abandon());
    });
  }
}

/** Checks the shape: the configured URL may point at something else than a runtime. */
function parseAnswer(text: string): RuntimeIndexAnswer | undefined {
  try {
    const answer = JSON.parse(text) as RuntimeIndexAnswer;
    if (answer.kind === 'refused') return Array.isArray(answer.problems) ? answer : undefined;
    return answer.kind === 'indexed' && Array.isArray(answer.index.functions) ? answer : undefined;
  } catch {
    return undefined;
  }
}
