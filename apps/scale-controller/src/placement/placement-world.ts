import type { StateMachine } from '@drover/contracts';
import { applicationLabel, isDebugged, versionLabel } from '@drover/instance-provider';
import type { ControllerMessage } from '@drover/scale-link';
import { StartDelays } from '../failures/start-delays.js';
import { placedWorkerStates, type PlacedWorkerState } from './placed-worker-states.js';
import {
  defaultPlacementTimings,
  placementRules,
  type PlacementOptions,
  type PlacementRules,
  type PlacementTimings,
} from './placement-options.js';
import type {
  PlacedApplication,
  PlacementCommand,
  PlacementEffect,
  PlacementNote,
  StoredWorker,
} from './placement-types.js';
import { applicationOf, toStored, WorkerTable, type PlacedWorker } from './worker-table.js';

/** A runtime that has attached, or is expected to. */
export interface RuntimeRecord {
  readonly runtimeId: string;
  incarnation: string;
  endpoint: { readonly host: string; readonly port: number };
  isAttached: boolean;
  /** Since it is attached or away. */
  sinceMs: number;
  /** `none`: the provider did not start it, or has not been asked. */
  instance: 'none' | 'live' | 'ended';
  /** Generation of each application that it has. */
  readonly hosted: Map<string, number>;
  /** Generation of each application that it was told to host, without an answer yet. */
  readonly hosting: Map<string, number>;
  /** Applications that were told to park, or were never awake. */
  readonly parked: Set<string>;
  readonly removing: Set<string>;
  /** When to try again to host an application that it refused. */
  readonly refused: Map<string, number>;
  /** Applications whose home it is. */
  readonly homes: Set<string>;
}

export interface ApplicationRecord {
  readonly application: string;
  /** Undefined until the catalog has told, and after it was removed there. */
  placed: PlacedApplication | undefined;
  desired: number;
  runtimeId: string | undefined;
  /** An urgent request wants one worker until then. */
  wokenUntilMs: number;
}

type CommandDraft = DraftOf<ControllerMessage>;
type DraftOf<M> = M extends unknown ? Omit<M, 'token' | 'commandId'> : never;

export interface PendingCommand {
  readonly runtimeId: string;
  readonly command: PlacementCommand;
  readonly sentAtMs: number;
}

/** Failures to start a placeholder or a runtime are counted under these keys, beside those of versions. */
export const poolKey = 'pool';
export const runtimeKey = 'runtime';

/** The state of placement and the operations that change it. Every operation records its effects for the shell. */
export class PlacementWorld {
  readonly workers = new WorkerTable();
  readonly runtimes = new Map<string, RuntimeRecord>();
  readonly applications = new Map<string, ApplicationRecord>();
  readonly pending = new Map<number, PendingCommand>();
  readonly delays = new StartDelays();
  /** Versions that want an isolated worker as soon as their delay allows one, each with its runtime. */
  readonly isolations = new Map<string, string>();
  readonly options: PlacementOptions;
  readonly timings: PlacementTimings;
  readonly rules: PlacementRules;
  nowMs = 0;
  poolTarget = 0;
  /** Whether the pools may have another size or another target than at their last plan. */
  isPoolChanged = false;
  /** Applications that changed in this step and are converged at its end. */
  readonly touched = new Set<string>();
  #effects: PlacementEffect[] = [];
  #commandId = 0;

  constructor(options: PlacementOptions) {
    this.options = options;
    this.timings = options.timings ?? defaultPlacementTimings;
    this.rules = options.rules ?? placementRules;
  }

  /** Returns the effects since the last call. */
  takeEffects(): readonly PlacementEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  emit(effect: PlacementEffect): void {
    this.#effects.push(effect);
  }

  note(note: PlacementNote): void {
    this.emit({ kind: 'note', note });
  }

  send(runtimeId: string, draft: CommandDraft): void {
    this.#commandId += 1;
    const command: PlacementCommand = { commandId: this.#commandId, ...draft };
    this.pending.set(this.#commandId, { runtimeId, command, sentAtMs: this.nowMs });
    this.emit({ kind: 'send', runtimeId, command });
  }

  runtimeOf(worker: PlacedWorker): RuntimeRecord | undefined {
    return this.runtimes.get(worker.runtimeId);
  }

  /** Returns the record of a runtime, a new one if it is unknown. */
  runtime(runtimeId: string): RuntimeRecord {
    const known = this.runtimes.get(runtimeId);
    if (known) return known;
    const record: RuntimeRecord = {
      runtimeId,
      incarnation: '',
      endpoint: { host: '', port: 0 },
      isAttached: false,
      sinceMs: this.nowMs,
      instance: 'none',
      hosted: new Map(),
      hosting: new Map(),
      parked: new Set(),
      removing: new Set(),
      refused: new Map(),
      homes: new Set(),
    };
    this.runtimes.set(runtimeId, record);
    return record;
  }

  application(application: string): ApplicationRecord {
    const known = this.applications.get(application);
    if (known) return known;
    const record = { application, placed: undefined, desired: 0, runtimeId: undefined, wokenUntilMs: 0 };
    this.applications.set(application, record);
    return record;
  }

  touch(application: string): void {
    this.touched.add(application);
  }

  setHome(record: ApplicationRecord, runtime: RuntimeRecord): void {
    if (record.runtimeId !== undefined) this.runtimes.get(record.runtimeId)?.homes.delete(record.application);
    record.runtimeId = runtime.runtimeId;
    runtime.homes.add(record.application);
  }

  /** Forgets what was sent to a runtime: it attaches with its complete state. */
  dropPending({ runtimeId, hosting, removing }: RuntimeRecord): void {
    for (const [commandId, pending] of this.pending)
      if (pending.runtimeId === runtimeId) this.pending.delete(commandId);
    hosting.clear();
    removing.clear();
  }

  /** Workers of a version on a runtime that count against the number that is wanted. */
  activeOf(versionKey: string, runtimeId: string): readonly PlacedWorker[] {
    return this.workers
      .ofVersion(versionKey)
      .filter(
        (worker) => worker.runtimeId === runtimeId && !worker.isIsolated && this.rules.isActive(worker.state.current),
      );
  }

  /** Other workers of the same application that serve. */
  readyOthers(worker: PlacedWorker): number {
    if (worker.versionKey === undefined) return 0;
    return this.workers
      .ofApplication(applicationOf(worker.versionKey))
      .filter((other) => other !== worker && !other.isIsolated && other.state.is('ready')).length;
  }

  recordFailure(key: string): void {
    this.delays.record(key, this.nowMs);
  }

  saveApplication({ application, desired, runtimeId }: ApplicationRecord): void {
    this.emit({ kind: 'save-application', row: { application, desired, runtimeId } });
  }

  /** Options that the program of a version's workers is started with. */
  programOptions(versionKey: string): readonly string[] {
    const application = applicationOf(versionKey);
    const { programOptions } = this.applications.get(application)?.placed ?? {};
    return programOptions?.[versionKey.slice(application.length + 1)] ?? [];
  }

  /** Starts a process for a runtime: a placeholder, or a worker of a version. */
  startWorker(runtime: RuntimeRecord, versionKey: string | undefined, isIsolated: boolean): PlacedWorker {
    const { newId, workerArguments } = this.options;
    const row: StoredWorker = {
      workerId: newId(),
      runtimeId: runtime.runtimeId,
      incarnation: runtime.incarnation,
      endpoint: endpointText(runtime.endpoint),
      requestId: newId(),
      versionKey,
      isIsolated,
      startedAtMs: this.nowMs,
    };
    const { workerId, requestId } = row;
    const deadlineMs = this.nowMs + this.timings.startMs;
    const worker = this.addWorker(row, 'starting', { isProven: true, isSeen: false, deadlineMs });
    const programOptions = versionKey === undefined ? undefined : this.programOptions(versionKey);
    this.send(runtime.runtimeId, {
      kind: 'expect',
      workerId,
      requestId,
      versionKey,
      isIsolated,
      ...(programOptions && isDebugged(programOptions) && { isDebugged: true }),
    });
    const spec = {
      instanceId: workerId,
      role: 'function-worker' as const,
      labels: workerLabels(row),
      environment: {},
      args: workerArguments({ ...runtime.endpoint, workerId, requestId }),
      ...(programOptions && { programOptions }),
    };
    this.emit({ kind: 'start', spec, row });
    return worker;
  }

  addWorker(
    row: StoredWorker,
    state: PlacedWorkerState,
    facts: Pick<PlacedWorker, 'isProven' | 'isSeen' | 'deadlineMs'>,
  ): PlacedWorker {
    const machine: StateMachine<PlacedWorkerState> = placedWorkerStates.start(state);
    const ttlMs = this.options.placeholderTtlMs();
    const worker = { ...row, ...facts, state: machine, ttlMs, sinceMs: this.nowMs, askedAtMs: this.nowMs };
    this.workers.add(worker);
    this.isPoolChanged = true;
    return worker;
  }

  /** Moves a worker if its table allows it. Late and repeated messages ask for moves that it does not. Returns whether it moved. */
  move(worker: PlacedWorker, state: PlacedWorkerState, deadlineMs?: number): boolean {
    if (!placedWorkerStates.canMove(worker.state.current, state)) return false;
    worker.state.move(state);
    this.isPoolChanged = true;
    worker.sinceMs = this.nowMs;
    worker.deadlineMs = deadlineMs;
    return true;
  }

  /** Gives a worker its version; specializes it at once if it is connected, otherwise when it connects. */
  specialize(worker: PlacedWorker, versionKey: string, isIsolated = false): void {
    const isAssigned = worker.versionKey === undefined;
    this.workers.assign(worker, versionKey);
    if (isAssigned) {
      this.isPoolChanged = true;
      worker.askedAtMs = this.nowMs;
      this.emit({ kind: 'save-worker', row: toStored(worker) });
    }
    if (worker.state.is('starting', 'lost')) return;
    if (!this.move(worker, 'specializing', this.nowMs + this.timings.specializeMs)) return;
    this.send(worker.runtimeId, { kind: 'specialize', workerId: worker.workerId, versionKey, isIsolated });
    this.note({ kind: 'placement.specialized', workerId: worker.workerId, versionKey });
  }

  /** Drains a worker and ends it afterwards. One that its runtime does not serve ends at once. */
  drain(worker: PlacedWorker): void {
    const { drainMs, commandMs } = this.timings;
    if (worker.state.is('starting', 'lost')) return this.end(worker, 0);
    if (!this.move(worker, 'draining', this.nowMs + drainMs + commandMs)) return;
    this.send(worker.runtimeId, { kind: 'drain', workerId: worker.workerId, withinMs: drainMs });
  }

  end(worker: PlacedWorker, graceMs: number): void {
    if (!this.move(worker, 'ending', this.nowMs + graceMs + this.timings.commandMs)) return;
    this.emit({ kind: 'end', instanceId: worker.workerId, graceMs });
  }

  /** The process has ended, or never started. */
  gone(worker: PlacedWorker): void {
    if (!this.move(worker, 'gone')) return;
    this.workers.remove(worker);
    this.emit({ kind: 'drop-worker', workerId: worker.workerId });
  }
}

export function endpointText({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host}:${port}`;
}

/** Longest value of a label. */
const longestLabel = 63;

function workerLabels({ runtimeId, versionKey, isIsolated }: StoredWorker): Readonly<Record<string, string>> {
  const labels = { 'drover.runtime': labelValue(runtimeId), 'drover.pool': isIsolated ? 'isolated' : 'application' };
  if (versionKey === undefined) return { ...labels, 'drover.pool': 'placeholder' };
  const [tenant = '', rest = ''] = versionKey.split('/', 2);
  const [application = '', version = ''] = rest.split(':', 2);
  return {
    ...labels,
    'drover.tenant': labelValue(tenant),
    [applicationLabel]: labelValue(application),
    [versionLabel]: labelValue(version),
  };
}

/** Returns text as a value of a label: it begins and ends with a letter or digit. */
function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9._-]/g, '_')
    .slice(0, longestLabel)
    .replaceAll(/^[._-]+|[._-]+$/g, '');
}
