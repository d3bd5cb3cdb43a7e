import type { Lifecycle } from '@drover/service-kit';
import { freeLoopbackPort } from './port-check.js';

/**
 * The port of the link between scale controller and runtime: the configured one, or a free one that is chosen once, since both
 * processes start at the same time and may be started again.
 */
export class ScaleLinkPort implements Lifecycle {
  readonly name = 'scale link port';
  #port: number;

  constructor(configured: number) {
    this.#port = configured;
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    if (this.#port === 0) this.#port = await freeLoopbackPort();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {}
}
