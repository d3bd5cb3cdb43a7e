import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRecordsImport } from '@drover/contracts';
import {
  ApiServer,
  limitProblem,
  requestIdOf,
  toErrorAnswer,
  type ApiServerOptions,
  type FastLaneExchange,
  type FastLaneRequest,
} from '@drover/http-edge';
import type { RequestProxy } from '../collections/collection-proxy.js';
import { gatewayPortUnusable } from '../errors.js';
import type { Upstream } from '../proxy/upstream.js';

export interface GatewayServerOptions extends ApiServerOptions {
  /** Serves collections and functions. */
  readonly proxy: Pick<RequestProxy, 'serve' | 'serveFastLane'>;
  /** Gets what is neither. */
  readonly controlPlane: Pick<Upstream, 'forward' | 'forwardFastLane'>;
  /** Answers probes and metrics of this process; returns false for any other path. */
  readonly serveProbe: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** Paths that every process answers for itself: a gateway must not show the health of the control plane as its own. */
const ownPath = /^\/(?:healthz|readyz|metrics)(?:\?|$)/;

/** The public port of a gateway that has a process of its own. */
export class GatewayServer extends ApiServer {
  readonly name = 'gateway server';
  readonly #options: GatewayServerOptions;
  protected readonly portUnusable = gatewayPortUnusable;

  constructor(options: GatewayServerOptions) {
    super(options);
    this.#options = options;
  }

  protected serveFastLane(request: FastLaneRequest, exchange: FastLaneExchange): boolean {
    const { proxy, controlPlane } = this.#options;
    if (proxy.serveFastLane(request, exchange)) return true;
    if (ownPath.test(request.url)) return false;
    controlPlane.forwardFastLane(request, exchange);
    return true;
  }

  protected accept(request: IncomingMessage, response: ServerResponse): void {
    const { limits, proxy, controlPlane, randomness, serveProbe } = this.#options;
    if (serveProbe(request, response)) return;
    const problem = limitProblem(request, limits);
    if (problem) {
      const { status, headers, body } = toErrorAnswer(problem, requestIdOf(request.headers, randomness));
      response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]).end(body);
      request.resume();
      return;
    }
    // Only uploads may take longer than other bodies.
    if (isRecordsImport(request.method, request.url)) this.beginUpload(request);
    if (!proxy.serve(request, response)) controlPlane.forward(request, response);
  }
}
