import type { Delivery } from '@drover/trigger-sources';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { deliveryInputs, payloadByHand } from '../bindings/delivery-inputs.js';
import type { Invoker } from '../invocations/invocation-call.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { AdminHost, DrainStatus, HostStatus } from '../routes/admin-host.js';

/** What the admin API reads and changes of a job host. */
export type AdministeredHost = Pick<JobHost, 'key' | 'functions' | 'state' | 'pause'>;

interface ApplicationAdminParts {
  readonly host: AdministeredHost;
  readonly problems: readonly FunctionProblem[];
  readonly invoker: Invoker;
  readonly version: string;
  readonly instanceId: string;
  readonly uptimeMs: () => number;
  /** Invocations in flight, all functions together. */
  readonly outstanding: () => number;
  /** Replaces all workers of the application. */
  readonly restart: () => void;
}

/** The admin operations of one application. */
export class ApplicationAdmin implements AdminHost {
  readonly #parts: ApplicationAdminParts;
  #isDraining = false;

  constructor(parts: ApplicationAdminParts) {
    this.#parts = parts;
  }

  functions(): readonly FunctionDefinition[] {
    return [...this.#parts.host.functions.values()];
  }

  problems(): readonly FunctionProblem[] {
    return this.#parts.problems;
  }

  run(definition: FunctionDefinition, input: string): void {
    const delivery: Delivery = {
      data: payloadByHand(definition.trigger, input),
      metadata: {},
      deliveryCount: 1,
      traceparent: undefined,
    };
    const { inputs, bindingData } = deliveryInputs(definition.trigger, delivery);
    void this.#parts.invoker.invoke({ definition, inputs, bindingData, trace: {} });
  }

  status(): HostStatus {
    const { host, version, instanceId, uptimeMs, problems } = this.#parts;
    const { key, state } = host;
    return {
      id: key,
      state: states[state],
      version,
      instanceId,
      uptimeMs: uptimeMs(),
      errors: problems.map(({ functionName, problem }) => `${functionName}: ${problem}`),
    };
  }

  restart(): void {
    this.#parts.restart();
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#parts.host.pause('drain');
  }

  drainStatus(): DrainStatus {
    const outstandingInvocations = this.#parts.outstanding();
    const state = !this.#isDraining ? 'Disabled' : outstandingInvocations > 0 ? 'InProgress' : 'Completed';
    return { state, outstandingInvocations, outstandingRetries: 0 };
  }
}

const states: Readonly<Record<JobHost['state'], HostStatus['state']>> = {
  created: 'Starting',
  starting: 'Starting',
  running: 'Running',
  failed: 'Error',
  stopping: 'Stopping',
  stopped: 'Stopped',
};
