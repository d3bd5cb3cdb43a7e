import type { Clock } from '@drover/service-kit';
import type { ClosableClient, SharedClients } from '../parked-trigger.js';

interface Cached {
  readonly client: ClosableClient;
  usedAtMs: number;
}

/** Longer than the longest time between two polls: a client that is used keeps its connection. */
const keptForMs = 180_000;

/** One client per connection for all parked triggers. Clients that were not used for three minutes are closed. */
export class SharedClientCache implements SharedClients {
  readonly #clock: Clock;
  readonly #clients = new Map<string, Cached>();
  #cancelSweep: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get<Client extends ClosableClient>(key: string, create: () => Client): Client {
    const usedAtMs = this.#clock.monotonicMs();
    const known = this.#clients.get(key);
    if (known) {
      known.usedAtMs = usedAtMs;
      return known.client as Client; // keys begin with the kind of client
    }
    const client = create();
    this.#clients.set(key, { client, usedAtMs });
    this.#cancelSweep ??= this.#clock.after(keptForMs, () => this.#sweep());
    return client;
  }

  async close(): Promise<void> {
    this.#cancelSweep?.();
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.all(clients.map(({ client }) => client.close()));
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    for (const [key, { client, usedAtMs }] of this.#clients) {
      if (now - usedAtMs < keptForMs) continue;
      this.#clients.delete(key);
      void client.close();
    }
    this.#cancelSweep = this.#clients.size === 0 ? undefined : this.#clock.after(keptForMs, () => this.#sweep());
  }
}
