import { isCodedError } from '@drover/contracts';
import type {
  ControllerMessage,
  HostedApplication,
  LinkOwner,
  RuntimeAttach,
  ScaleLinkClient,
} from '@drover/scale-link';
import { deadlineAfter, type Clock, type Observe } from '@drover/service-kit';
import { applicationNameOf } from '../applications/application-key.js';
import type { DeployedVersion } from '../deployments/deployed-version.js';
import { specializationFailed } from '../errors.js';
import type { Admission } from '../rpc/admission.js';
import type { Specializer } from '../specialization/specializer.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import { commandFenced, linkedWorkerTaken, linkedWorkerUnknown, versionNotHosted } from './errors.js';
import type { LinkObservation } from './link-observations.js';
import { toLinkedWorker, type LinkedWorkers } from './linked-workers.js';

/** For how long a command about a worker waits for its application: both are sent when a runtime attaches, in any order. */
const hostedWithinMs = 5_000;

/** The applications that a scale controller has this runtime host. */
export interface CommandedApplications {
  /** Generation of each, by `tenant/application`. */
  generations(): Readonly<Record<string, number>>;
  /** Hosts an application, or changes it. Ignores an older generation than the one that it has. */
  host(application: HostedApplication): Promise<void>;
  /** Drains an application with its workers and removes it. */
  remove(application: string, drainMs: number): Promise<void>;
  /** Releases what an application without workers does not need. Rejects while it has calls or workers. */
  park(application: string): Promise<void>;
  /** Returns a version by its key, and opens its job host. */
  find(versionKey: string): Promise<DeployedVersion | undefined> | undefined;
  /** All that this runtime hosts is known now. */
  synced(): void;
  /** Requests workers again for all calls that wait. */
  requestAgain(): void;
}

interface LinkCommandsOptions {
  readonly runtimeId: string;
  /** Of this process. */
  readonly incarnation: string;
  /** Where workers connect, and where functions are called: known once both listen. */
  readonly addresses: () => Pick<RuntimeAttach, 'endpoint' | 'functionsUrl'>;
  /** All workers are started with a debugger, which may halt them: no time limit applies to them. */
  readonly areDebugged: boolean;
  readonly link: Pick<ScaleLinkClient, 'send'>;
  readonly workers: LinkedWorkers;
  readonly applications: CommandedApplications;
  readonly registry: FunctionWorkerRegistry;
  readonly admission: Admission;
  readonly lifecycle: WorkerLifecycle;
  readonly specializer: Specializer;
  readonly clock: Clock;
  readonly observe: Observe<LinkObservation>;
}

/**
 * Executes the commands of the scale controller and answers each one. All commands may be repeated. Commands about one
 * application run in their order, and commands about its workers wait for those before them; others do not wait.
 */
export class LinkCommands implements LinkOwner {
  readonly #options: LinkCommandsOptions;
  /** The last command about each application; settles when it is done. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Specializations and drains that a repeated command joins, by worker. */
  readonly #specializing = new Map<string, Promise<void>>();
  readonly #draining = new Map<string, Promise<void>>();
  /** Commands that wait for an application, by its name. */
  readonly #awaited = new Map<string, Set<() => void>>();
  /** Highest token of all commands: a lower one is of a leader that was replaced. */
  #highestToken = 0;

  constructor(options: LinkCommandsOptions) {
    this.#options = options;
  }

  attach(): RuntimeAttach {
    const { runtimeId, incarnation, addresses, registry, applications } = this.#options;
    return {
      kind: 'attach',
      runtimeId,
      incarnation,
      ...addresses(),
      workers: registry.all().flatMap((worker) => {
        const linked = toLinkedWorker(worker);
        return linked && linked.state !== 'gone' ? [linked] : [];
      }),
      applications: applications.generations(),
    };
  }

  attached(): void {
    const { observe, registry, applications, workers } = this.#options;
    const names = Object.keys(applications.generations());
    observe({ kind: 'link.attached', workers: registry.size, applications: names.length });
    workers.sendOpen();
    applications.requestAgain();
  }

  received(command: ControllerMessage): void {
    const { token, commandId, kind } = command;
    if (token < this.#highestToken) {
      const highest = this.#highestToken;
      this.#options.observe({ kind: 'link.fenced', command: kind, token, highest });
      return this.#answer(commandId, commandFenced({ token, highest }));
    }
    this.#highestToken = token;
    void this.#run(command);
  }

  async #run(command: ControllerMessage): Promise<void> {
    const { clock, observe } = this.#options;
    const startedMs = clock.monotonicMs();
    let failure: unknown;
    try {
      await this.#execute(command);
    } catch (error) {
      failure = error ?? new Error('it failed without a reason');
    }
    const error = failure === undefined ? undefined : messageOf(failure);
    observe({ kind: 'link.command', command: command.kind, durationMs: clock.monotonicMs() - startedMs, error });
    this.#answer(command.commandId, failure);
  }

  #execute(command: ControllerMessage): Promise<void> {
    const { applications, workers } = this.#options;
    switch (command.kind) {
      case 'host': {
        const { tenantId, applicationId } = command.application;
        const name = `${tenantId}/${applicationId}`;
        return this.#inTurn(name, async () => {
          await applications.host(command.application);
          for (const resolve of this.#awaited.get(name) ?? []) resolve();
        });
      }
      case 'remove':
        return this.#inTurn(command.application, async () => {
          await applications.remove(command.application, command.drainMs);
          workers.forget(command.application);
        });
      case 'synced':
        return Promise.all(this.#turns.values()).then(() => applications.synced());
      case 'park':
        return this.#inTurn(command.application, () => applications.park(command.application));
      case 'expect':
        return this.#expect(command);
      case 'specialize':
        return joined(this.#specializing, `${command.workerId} ${command.versionKey}`, () => this.#specialize(command));
      case 'drain':
        return joined(this.#draining, command.workerId, () => this.#drain(command));
    }
  }

  async #expect({
    workerId,
    requestId,
    versionKey,
    isIsolated,
    isDebugged = false,
  }: Extract<ControllerMessage, { readonly kind: 'expect' }>): Promise<void> {
    const { registry, admission, clock, areDebugged } = this.#options;
    const announcedMs = clock.monotonicMs();
    if (versionKey !== undefined) await this.#untilHosted(applicationNameOf(versionKey));
    // A worker that is connected has used its request id; a second stream with it would be another process.
    if (registry.get(workerId)?.is('abandoned', 'disconnected') === false) return;
    const traits = { isIsolated, isDebugged: areDebugged || isDebugged, isManaged: true };
    admission.expect({ workerId, requestId, applicationKey: versionKey, traits, announcedMs });
  }

  async #specialize({
    workerId,
    versionKey,
    isIsolated,
  }: Extract<ControllerMessage, { readonly kind: 'specialize' }>): Promise<void> {
    const { registry, applications, specializer } = this.#options;
    const worker = registry.get(workerId);
    if (!worker || worker.is('abandoned', 'disconnected')) throw linkedWorkerUnknown({ workerId });
    if (worker.applicationKey === versionKey && worker.is('ready', 'unhealthy')) return;
    if (!worker.is('placeholder'))
      throw linkedWorkerTaken({ workerId, state: worker.state, versionKey: worker.applicationKey });
    await this.#untilHosted(applicationNameOf(versionKey));
    const deployed = await applications.find(versionKey);
    if (!deployed) throw versionNotHosted({ versionKey });
    if (!worker.is('placeholder')) throw linkedWorkerUnknown({ workerId }); // lost meanwhile
    if (isIsolated) worker.isolate();
    if (await specializer.specialize(worker, deployed)) return;
    throw specializationFailed({ workerId, step: versionKey, text: worker.endReason ?? 'the worker was lost' });
  }

  async #drain({ workerId, withinMs }: Extract<ControllerMessage, { readonly kind: 'drain' }>): Promise<void> {
    const { registry, lifecycle, clock } = this.#options;
    const worker = registry.get(workerId);
    if (!worker) return;
    const deadline = deadlineAfter(clock, withinMs);
    await lifecycle.retire(worker, deadline.signal);
    deadline.cancel();
  }

  /** Resolves when an application is hosted and no command about it runs, or after a time limit. */
  async #untilHosted(application: string): Promise<void> {
    await this.#turns.get(application);
    if (application in this.#options.applications.generations()) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#awaited.get(application) ?? new Set();
      this.#awaited.set(application, waiting);
      const done = (): void => {
        cancel();
        waiting.delete(done);
        if (waiting.size === 0) this.#awaited.delete(application);
        resolve();
      };
      const cancel = this.#options.clock.after(hostedWithinMs, done);
      waiting.add(done);
    });
  }

  /** Runs a command about an application after those before it. */
  #inTurn(application: string, run: () => Promise<void>): Promise<void> {
    const done = (this.#turns.get(application) ?? Promise.resolve()).then(run, run);
    const settled = done.catch(() => undefined); // reported by its own answer
    this.#turns.set(application, settled);
    void settled.then(() => {
      if (this.#turns.get(application) === settled) this.#turns.delete(application);
    });
    return done;
  }

  #answer(commandId: number, failure: unknown): void {
    const code = isCodedError(failure) ? failure.code : 'INTERNAL';
    const error = failure === undefined ? {} : { error: { code, message: messageOf(failure) } };
    this.#options.link.send({ kind: 'answer', commandId, ...error });
  }
}

/** Runs `start` once for all concurrent calls with the same key. */
function joined(running: Map<string, Promise<void>>, key: string, start: () => Promise<void>): Promise<void> {
  const known = running.get(key);
  if (known) return known;
  const started = start().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
