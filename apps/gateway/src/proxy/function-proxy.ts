import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearsApiKey, isForFunctions } from '@drover/contracts';
import {
  toErrorAnswer,
  type ConnectionChannel,
  type CorsPolicy,
  type FastLaneExchange,
  type FastLaneRequest,
} from '@drover/http-edge';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import { noFunctions, runtimeBroke, runtimeUnreachable } from '../errors.js';
import { Upstream } from './upstream.js';
import type { UnservedAnswer } from './unserved-path.js';

export interface FunctionProxyOptions {
  /** The runtime's HTTP address, or the file that will hold it; neither if no runtime is configured. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile?: string | undefined;
  /** Passes kept-alive connections to the runtime, if it runs on this machine and under the same parent. */
  readonly connections?: ConnectionChannel | undefined;
  readonly maxConnections?: number;
  /** How long a request waits while no runtime accepts connections, and how many may. */
  readonly holdMs: number;
  readonly maxHeldRequests: number;
  /** Which pages of other origins may read errors of the gateway; the runtime decides about its own answers. */
  readonly cors?: CorsPolicy | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** Proxies requests for functions to the runtime, from the fast lane and from Node's server. */
export class FunctionProxy implements Lifecycle {
  readonly name = 'function proxy';
  readonly #options: FunctionProxyOptions;
  readonly #runtime: Upstream;

  constructor(options: FunctionProxyOptions) {
    this.#options = options;
    this.#runtime = new Upstream({
      ...options,
      url: options.runtimeUrl,
      urlFile: options.runtimeUrlFile,
      toAnswer: toErrorAnswer,
      errors: {
        absent: () => noFunctions({}),
        unreachable: (reason) => runtimeUnreachable({ reason }),
        brokeOff: (reason) => runtimeBroke({ reason }),
      },
    });
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#runtime.drain();
  }

  stop(): Promise<void> {
    return this.#runtime.stop();
  }

  /** Proxies a request of Node's server. Returns false if it is not for a function. `unserved` answers if no function has the path. */
  readonly serve = (request: IncomingMessage, response: ServerResponse, unserved?: UnservedAnswer): boolean => {
    if (request.url === undefined || !isForFunctions(request.url)) return false;
    this.#runtime.forward(request, response, { unserved });
    return true;
  };

  /** Proxies a request of the fast lane. Returns false if it is not for a function. */
  readonly serveFastLane = (
    request: FastLaneRequest,
    exchange: FastLaneExchange,
    unserved?: UnservedAnswer,
  ): boolean => {
    if (!isForFunctions(request.url)) return false;
    const mayPass = exchange.answeredBefore > 0 && !bearsApiKey(request.headers['authorization']);
    if (mayPass && this.#passConnection(exchange)) return true;
    this.#runtime.forwardFastLane(request, exchange, { unserved });
    return true;
  };

  /**
   * Passes the connection to the runtime, which then serves its requests without a hop, and gives it back for a request with an API
   * key or for a name of a collection. Returns false if it stays here.
   */
  #passConnection(exchange: FastLaneExchange): boolean {
    const { connections } = this.#options;
    const passed = connections?.isOpen ? exchange.detach() : undefined;
    if (passed) connections?.pass(passed);
    return passed !== undefined;
  }
}
