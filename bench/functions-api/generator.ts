import type { Leash } from '@drover/service-kit';
import { Program } from '../harness/program.js';
import type { ClosedLoad, ClosedLoadResult } from './load/closed-loop.js';
import type { OpenLoad, OpenLoadResult } from './load/open-loop.js';
import type { GeneratorAnswer, GeneratorRequest } from './programs/generator.js';

/** The one process that calls all contestants. */
export class Generator {
  readonly #program: Program<GeneratorRequest, GeneratorAnswer>;

  constructor(leash: Leash) {
    this.#program = new Program(new URL('./programs/generator.js', import.meta.url), leash);
  }

  async closed(load: ClosedLoad): Promise<ClosedLoadResult> {
    return (await this.#program.ask({ kind: 'closed', load })) as ClosedLoadResult; // what it answers to that
  }

  async open(load: OpenLoad): Promise<OpenLoadResult> {
    return (await this.#program.ask({ kind: 'open', load })) as OpenLoadResult; // what it answers to that
  }

  close(): Promise<void> {
    return this.#program.end();
  }
}
