import type { Lifecycle, Randomness } from '@drover/service-kit';
import { freeLoopbackPort } from './port-check.js';

/**
 * The port of the link between scale controller and runtime: the configured one, or a free one that is chosen once, since both
 * processes start at the same time and may be started again.
 */
export class ScaleLinkPort implements Lifecycle {
  readonly name = 'scale link port';
  readonly #randomness: Randomness;
  #port: number;

  constructor(configured: number, randomness: Randomness) {
    this.#port = configured;
    this.#randomness = randomness;
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    if (this.#port === 0) this.#port = await freeLoopbackPort(this.#randomness);
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {}
}
