import type { InstanceProvider } from '@drover/instance-provider';
import {
  openScaleLink,
  ScaleLinkClient,
  type ApplicationSample,
  type ControllerMessage,
  type LinkedWorker,
  type RuntimeAttach,
} from '@drover/scale-link';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';

type CommandOf<Kind extends ControllerMessage['kind']> = Extract<ControllerMessage, { readonly kind: Kind }>;

/** A runtime that does what it is told at once. Its workers are instances of a fake provider, which connect when they run. */
export class ScriptedRuntime {
  readonly client: ScaleLinkClient;
  readonly commands: ControllerMessage[] = [];
  readonly hosted = new Map<string, number>();
  readonly workers = new Map<string, LinkedWorker>();
  readonly #expected = new Map<string, CommandOf<'expect'>>();
  readonly #running = new Set<string>();
  readonly #waiting = new Map<string, (command: ControllerMessage) => void>();
  #highestToken = 0;

  constructor(urls: readonly string[], token: string, provider: Pick<InstanceProvider, 'subscribe'>) {
    this.client = new ScaleLinkClient({
      open: urls.map((url) => (signal) => openScaleLink({ url, token: new Secret(token) }, signal)),
      onDetached: () => undefined,
      onUnreachable: () => undefined,
      clock: systemClock,
      randomness: systemRandomness,
    });
    this.client.serve({
      attach: () => this.#attach(),
      attached: () => undefined,
      received: (command) => this.#received(command),
    });
    provider.subscribe(({ instance: { instanceId, state } }) => {
      if (state === 'running') this.#running.add(instanceId);
      else this.#running.delete(instanceId);
      if (state === 'ended') this.workers.delete(instanceId);
      this.#connect(instanceId);
    });
  }

  of<Kind extends ControllerMessage['kind']>(kind: Kind): readonly CommandOf<Kind>[] {
    return this.commands.filter((command): command is CommandOf<Kind> => command.kind === kind);
  }

  states(): readonly string[] {
    return [...this.workers.values()].map(({ state }) => state).toSorted();
  }

  /** Resolves with the command that gives an application a worker. */
  untilWorkerOf(application: string): Promise<ControllerMessage> {
    return new Promise((resolve) => this.#waiting.set(application, resolve));
  }

  /** An event found no worker. */
  wake(application: string): void {
    this.client.send({
      kind: 'request',
      application,
      versionKey: undefined,
      priority: 'urgent',
      reason: 'wake',
      replaces: undefined,
      isIsolated: false,
    });
  }

  /** A second in which versions of an application ended calls. */
  sample(application: string, versions: ApplicationSample['versions']): void {
    const sample: ApplicationSample = {
      application,
      inFlight: 0,
      waiting: 0,
      capacity: 100,
      arrivals: 0,
      completions: 0,
      failures: 0,
      meanServiceMs: undefined,
      p95ServiceMs: undefined,
      versions,
      cpu: undefined,
      memory: undefined,
      isBackpressured: false,
      triggers: [],
    };
    this.client.send({ kind: 'sample', atMs: systemClock.now(), memory: 0.1, applications: [sample] });
  }

  #attach(): RuntimeAttach {
    return {
      kind: 'attach',
      runtimeId: 'runtime-1',
      incarnation: 'first',
      endpoint: { host: '127.0.0.1', port: 4000 },
      functionsUrl: 'http://127.0.0.1:4001',
      workers: [...this.workers.values()],
      applications: Object.fromEntries(this.hosted),
    };
  }

  #received(command: ControllerMessage): void {
    this.commands.push(command);
    if (command.kind === 'expect' || command.kind === 'specialize')
      this.#waiting.get(command.versionKey?.split(':')[0] ?? '')?.(command);
    const { commandId, token } = command;
    if (token < this.#highestToken) {
      const error = { code: 'SCALE_LINK_FENCED', message: 'another scale controller leads' };
      this.client.send({ kind: 'answer', commandId, error });
      return;
    }
    this.#highestToken = token;
    if (command.kind === 'host') {
      const { tenantId, applicationId, generation } = command.application;
      this.hosted.set(`${tenantId}/${applicationId}`, generation);
    } else if (command.kind === 'remove') this.hosted.delete(command.application);
    else if (command.kind === 'expect') {
      this.#expected.set(command.workerId, command);
      this.#connect(command.workerId);
    } else if (command.kind === 'specialize') this.#report(command.workerId, 'ready', command.versionKey);
    else if (command.kind === 'drain') this.#report(command.workerId, 'draining', undefined);
    this.client.send({ kind: 'answer', commandId });
  }

  #connect(workerId: string): void {
    const expected = this.#expected.get(workerId);
    if (!expected || !this.#running.has(workerId) || this.workers.has(workerId)) return;
    this.#report(workerId, expected.versionKey === undefined ? 'placeholder' : 'ready', expected.versionKey);
  }

  #report(workerId: string, state: LinkedWorker['state'], versionKey: string | undefined): void {
    const worker = { workerId, state, versionKey: versionKey ?? this.workers.get(workerId)?.versionKey };
    this.workers.set(workerId, worker);
    this.client.send({ kind: 'worker', worker });
  }
}
