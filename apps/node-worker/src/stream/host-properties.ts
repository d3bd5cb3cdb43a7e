import { hasCapability, type WorkerInitRequest } from '@drover/function-rpc';

/** The capability with which a host announces that workers may reconnect after it was restarted. */
const reconnectCapability = 'DroverReconnect';

/** What the host announced in its last WorkerInitRequest. */
export class HostProperties {
  #version = '';
  #acceptsReturningWorkers = false;

  /** Empty before the first WorkerInitRequest. */
  get version(): string {
    return this.#version;
  }

  get acceptsReturningWorkers(): boolean {
    return this.#acceptsReturningWorkers;
  }

  update({ hostVersion, capabilities }: Pick<WorkerInitRequest, 'hostVersion' | 'capabilities'>): void {
    this.#version = hostVersion;
    this.#acceptsReturningWorkers = hasCapability(capabilities, reconnectCapability);
  }
}
