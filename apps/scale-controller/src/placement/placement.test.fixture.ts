import type { Instance } from '@drover/instance-provider';
import type { LinkedWorker, LinkedWorkerState } from '@drover/scale-link';
import type { PlacementOptions } from './placement-options.js';
import type { PlacedApplication, PlacementCommand, PlacementEffect, PlacementEvent } from './placement-types.js';
import { Placement } from './placement.js';

/** An application in versions with their traffic shares. */
export function placedApplication(
  application: string,
  traffic: Readonly<Record<string, number>> = { c1: 100 },
  { generation = 1, maxWorkers = 10, isDeleting = false } = {},
): PlacedApplication {
  const [tenantId = '', applicationId = ''] = application.split('/');
  const index = { metadataVersion: 'm1', functions: [], problems: [] };
  const versions = Object.keys(traffic).map((codeVersion) => ({
    tenantId,
    applicationId,
    codeVersion,
    directory: `/apps/${applicationId}`,
    settings: {},
    index,
  }));
  const hosted = { tenantId, applicationId, generation, versions, traffic };
  return { application, tenantId, hosted, maxWorkers, isDeleting };
}

/** A placement with a clock, a log of its effects, and answers of a runtime that does what it is told. */
export class PlacementTrial {
  readonly placement: Placement;
  nowMs = 1_000_000;
  effects: readonly PlacementEffect[] = [];
  #ids = 0;

  constructor(options: Partial<PlacementOptions> = {}) {
    this.placement = new Placement({
      newId: () => `id-${(this.#ids += 1)}`,
      placeholderTtlMs: () => 20 * 60_000,
      pool: { min: 0, max: 10 },
      maxWorkers: 100,
      runtimes: 0,
      workerArguments: ({ workerId }) => [workerId],
      ...options,
    });
  }

  step(event: PlacementEvent): readonly PlacementEffect[] {
    this.effects = this.placement.step(event, this.nowMs);
    return this.effects;
  }

  tick(ms = 1_000): readonly PlacementEffect[] {
    this.nowMs += ms;
    return this.step({ kind: 'tick' });
  }

  attach(
    runtimeId = 'runtime-1',
    facts: {
      incarnation?: string;
      workers?: readonly LinkedWorker[];
      applications?: Record<string, number>;
      port?: number;
    } = {},
  ): readonly PlacementEffect[] {
    const { incarnation = 'first', workers = [], applications = {}, port = 4000 } = facts;
    const endpoint = { host: '127.0.0.1', port };
    const attach = {
      kind: 'attach',
      runtimeId,
      incarnation,
      endpoint,
      functionsUrl: '',
      workers,
      applications,
    } as const;
    return this.step({ kind: 'attached', attach });
  }

  /** Reports the state of a worker, as its runtime does. */
  report(workerId: string, state: LinkedWorkerState, versionKey?: string, reason?: string): readonly PlacementEffect[] {
    const worker = { workerId, state, versionKey, ...(reason !== undefined && { reason }) };
    return this.step({ kind: 'worker', runtimeId: 'runtime-1', worker });
  }

  instance(instanceId: string, state: Instance['state'] = 'running'): readonly PlacementEffect[] {
    return this.step({ kind: 'instance', instance: workerInstance(instanceId, state) });
  }

  request(
    application: string,
    facts: Partial<Extract<PlacementEvent, { kind: 'request' }>['request']> = {},
  ): readonly PlacementEffect[] {
    const request = {
      kind: 'request' as const,
      application,
      versionKey: undefined,
      priority: 'urgent' as const,
      reason: 'wake',
      replaces: undefined,
      isIsolated: false,
      ...facts,
    };
    return this.step({ kind: 'request', runtimeId: 'runtime-1', request });
  }

  /** Answers the last command of a kind. */
  answer(kind: PlacementCommand['kind'], error?: { code: string; message: string }): readonly PlacementEffect[] {
    const command = this.commands(kind).at(-1);
    if (!command) throw new Error(`no ${kind} was sent`);
    return this.step({ kind: 'answer', runtimeId: 'runtime-1', commandId: command.commandId, error });
  }

  /** Brings a placeholder up, from its process to its connection. Returns its id. */
  placeholder(): string {
    const [workerId = ''] = this.started();
    this.instance(workerId);
    this.report(workerId, 'placeholder');
    return workerId;
  }

  commands<Kind extends PlacementCommand['kind']>(kind: Kind): readonly Extract<PlacementCommand, { kind: Kind }>[] {
    return this.effects.flatMap((effect) =>
      effect.kind === 'send' && effect.command.kind === kind
        ? [effect.command as Extract<PlacementCommand, { kind: Kind }>]
        : [],
    );
  }

  /** Ids of the instances that the last step started. */
  started(): readonly string[] {
    return this.effects.flatMap((effect) => (effect.kind === 'start' ? [effect.spec.instanceId] : []));
  }

  ended(): readonly string[] {
    return this.effects.flatMap((effect) => (effect.kind === 'end' ? [effect.instanceId] : []));
  }

  states(application: string): readonly string[] {
    return this.placement.workersOf(application).map(({ state }) => state);
  }
}

export function workerInstance(instanceId: string, state: Instance['state'] = 'running'): Instance {
  const end = { isClean: false, text: 'signal SIGKILL' };
  return { instanceId, role: 'function-worker', labels: {}, state, startedAtMs: 0, ...(state === 'ended' && { end }) };
}
