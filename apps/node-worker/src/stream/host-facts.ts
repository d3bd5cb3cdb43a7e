import { hasCapability, type WorkerInitRequest } from '@drover/function-rpc';

/** The capability by which a host says that its workers may come back to it after it was restarted. */
export const reconnectCapability = 'DroverReconnect';

/** What the host has said of itself. */
export class HostFacts {
  #version = '';
  #takesWorkersBack = false;

  /** Empty before the first request. */
  get version(): string {
    return this.#version;
  }

  get takesWorkersBack(): boolean {
    return this.#takesWorkersBack;
  }

  learn({ hostVersion, capabilities }: Pick<WorkerInitRequest, 'hostVersion' | 'capabilities'>): void {
    this.#version = hostVersion;
    this.#takesWorkersBack = hasCapability(capabilities, reconnectCapability);
  }
}
