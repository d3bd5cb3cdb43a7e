import { serveRequests } from '../../harness/program.js';
import { runLoad, type Load, type LoadResult } from '../load.js';

export type EchoHostRequest =
  | { readonly kind: 'listen' }
  | { readonly kind: 'load'; readonly load: Load; readonly peers: readonly number[] };
export type EchoHostAnswer = number | LoadResult;

/** The host of an echo: says on which port it listens, and calls its peer as often as it can. */
export interface EchoHost {
  readonly listen: () => Promise<number>;
  /** Resolves when the peer is there. */
  readonly connected: Promise<unknown>;
  readonly call: () => Promise<unknown>;
}

export function serveEchoHost({ listen, connected, call }: EchoHost): void {
  serveRequests<EchoHostRequest>(async (request) => {
    if (request.kind === 'listen') return await listen();
    await connected;
    return await runLoad(call, request.load, request.peers);
  });
}

/** Its peer connects to that port; answers with its process id. */
export interface EchoPeerRequest {
  readonly port: number;
}

/**
 * Matches answers to calls: as little as one can do to have several in flight. Ids look like any other and say where their
 * call waits. A Map would cost more than it looks: V8 keeps everything that passes through one whose tables change often
 * until it next looks at all of the heap.
 */
export class Calls {
  readonly #waiting: ((() => void) | undefined)[] = [];
  readonly #free: number[] = [];

  begin(): { readonly id: string; readonly answered: Promise<void> } {
    const place = this.#free.pop() ?? this.#waiting.length;
    const answered = new Promise<void>((resolve) => (this.#waiting[place] = resolve));
    return { id: `00000000-0000-4000-8000-${place.toString(16).padStart(12, '0')}`, answered };
  }

  end(id: string): void {
    const place = Number.parseInt(id.slice(-12), 16);
    const resolve = this.#waiting[place];
    if (!resolve) return;
    this.#waiting[place] = undefined;
    this.#free.push(place);
    resolve();
  }
}
