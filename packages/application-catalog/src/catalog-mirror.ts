import { applicationChanged, type PublishedEvent } from '@drover/contracts';
import type { EventBus, Subscription } from '@drover/event-bus';
import type { Lifecycle } from '@drover/service-kit';
import type { ApplicationCatalog, CatalogApplication } from './application-catalog.js';

/** Called with the application as it is now; undefined: it was removed. `key` is `tenant/application`. */
export type CatalogListener = (key: string, application: CatalogApplication | undefined) => void;

/**
 * All applications in memory, kept up to date by the events of the catalog. Reads the catalog at its start, and again when events were
 * removed before they were delivered.
 */
export class CatalogMirror implements Lifecycle {
  readonly name = 'application catalog';
  readonly #catalog: Pick<ApplicationCatalog, 'list' | 'find'>;
  readonly #bus: Pick<EventBus, 'lastPosition' | 'subscribe'>;
  readonly #applications = new Map<string, CatalogApplication>();
  readonly #listeners: CatalogListener[] = [];
  #subscription: Subscription | undefined;

  constructor(catalog: Pick<ApplicationCatalog, 'list' | 'find'>, bus: Pick<EventBus, 'lastPosition' | 'subscribe'>) {
    this.#catalog = catalog;
    this.#bus = bus;
  }

  async start(): Promise<void> {
    // Before the snapshot: what changes while it is read is delivered after it.
    const from = await this.#bus.lastPosition();
    await this.#readAll();
    this.#subscription = await this.#bus.subscribe({
      topics: [applicationChanged],
      from,
      handle: (event) => this.#handle(event),
      onGap: () => this.#readAll(),
    });
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#subscription?.close();
    this.#subscription = undefined;
  }

  all(): readonly CatalogApplication[] {
    return [...this.#applications.values()];
  }

  /** `key` is `tenant/application`. */
  get(key: string): CatalogApplication | undefined {
    return this.#applications.get(key);
  }

  /** Calls `listener` on every change from now on, and for each application that `start` finds. */
  onChange(listener: CatalogListener): void {
    this.#listeners.push(listener);
  }

  async #readAll(): Promise<void> {
    const listed = await this.#catalog.list();
    const keys = new Set(listed.map(keyOf));
    for (const key of this.#applications.keys()) if (!keys.has(key)) this.#put(key, undefined);
    for (const application of listed) this.#put(keyOf(application), application);
  }

  async #handle({ key, generation, payload }: PublishedEvent): Promise<void> {
    if ((this.#applications.get(key)?.generation ?? 0) >= generation) return;
    const { tenantId, applicationId } = payload as Pick<CatalogApplication, 'tenantId' | 'applicationId'>; // of this topic
    this.#put(key, await this.#catalog.find({ tenantId, applicationId }));
  }

  #put(key: string, application: CatalogApplication | undefined): void {
    const known = this.#applications.get(key);
    if (known?.generation === application?.generation) return;
    if (application) this.#applications.set(key, application);
    else this.#applications.delete(key);
    for (const listener of this.#listeners) listener(key, application);
  }
}

function keyOf({ tenantId, applicationId }: CatalogApplication): string {
  return `${tenantId}/${applicationId}`;
}
