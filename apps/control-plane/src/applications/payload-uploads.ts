import type { ApplicationCatalog, CatalogPayload, PayloadStore } from '@drover/application-catalog';
import type { TenantId } from '@drover/contracts';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import { uploadsBusy, uploadsOff } from './errors.js';
import type { DeploymentObservation } from './observations.js';

export interface PayloadUploadsOptions {
  readonly catalog: Pick<ApplicationCatalog, 'addPayload' | 'removePayloads'>;
  /** Undefined: no uploads. */
  readonly payloads: PayloadStore | undefined;
  readonly clock: Clock;
  readonly observe: Observe<DeploymentObservation>;
}

/** Each unpacks with several writers. */
const maxUploads = 4;
/** How long a payload may wait for its deployment. */
const unusedMs = 86_400_000;
const cleanEveryMs = 3_600_000;
/** Payloads of a tenant that wait for their deployment: it may not fill the disk with more. */
const maxUnused = 20;

/** Receives payloads, a few at a time, and removes those that no version needs. */
export class PayloadUploads implements Lifecycle {
  readonly name = 'payloads';
  readonly #options: PayloadUploadsOptions;
  #running = 0;
  #cancelCleaning: (() => void) | undefined;
  #cleaning: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: PayloadUploadsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    if (this.#options.payloads) this.#cleaning = this.#clean(this.#options.payloads);
  }

  async drain(): Promise<void> {
    this.#end();
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#cleaning;
  }

  /** Throws APPLICATION_PAYLOAD_INVALID, APPLICATION_PAYLOAD_TOO_LARGE, APPLICATION_UPLOADS_OFF, APPLICATION_UPLOADS_BUSY. */
  async receive(tenantId: TenantId, zip: AsyncIterable<Uint8Array>): Promise<CatalogPayload> {
    const { payloads, catalog, observe } = this.#options;
    if (!payloads) throw uploadsOff({});
    if (this.#running >= maxUploads) throw uploadsBusy({ most: maxUploads });
    this.#running += 1;
    try {
      const { place, discard, ...payload } = await payloads.receive(tenantId, zip);
      try {
        await catalog.addPayload(tenantId, payload, place);
      } finally {
        await discard();
      }
      observe({ kind: 'payload.uploaded', tenantId, digest: payload.digest, bytes: payload.bytes });
      await this.#removeUnused(payloads);
      return payload;
    } finally {
      this.#running -= 1;
    }
  }

  async #clean(payloads: PayloadStore): Promise<void> {
    const { clock, observe } = this.#options;
    try {
      await payloads.removeStale();
      await this.#removeUnused(payloads);
    } catch (error) {
      observe({ kind: 'payload.cleaning-failed', error });
    }
    if (this.#isStopped) return;
    this.#cancelCleaning = clock.after(cleanEveryMs, () => {
      this.#cleaning = this.#clean(payloads);
    });
  }

  async #removeUnused(payloads: PayloadStore): Promise<void> {
    const { catalog, clock, observe } = this.#options;
    const which = { beforeMs: clock.now() - unusedMs, maxUnused };
    const count = await catalog.removePayloads(which, (tenantId, digest) => payloads.remove(tenantId, digest));
    if (count > 0) observe({ kind: 'payload.cleaned', count });
  }

  #end(): void {
    this.#isStopped = true;
    this.#cancelCleaning?.();
    this.#cancelCleaning = undefined;
  }
}
