import type { Clock, Observe } from '@drover/service-kit';
import type { InvocationCall } from './invocation-call.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';

interface CrashSuspectsOptions {
  readonly clock: Clock;
  /** Keeps an isolated worker of an application running. Returns false if none can be started. */
  readonly isolate: (applicationKey: string) => boolean;
  readonly endIsolation: (applicationKey: string) => void;
  readonly observe: Observe<FunctionInvocationObservation>;
}

/**
 * How a call may run:
 * - clear: on any worker
 * - isolate: alone, on the isolated worker
 * - wait: judge it again when `until` resolves
 * - refuse: its function ended workers again and again; try it later
 * - poison: its message ended two workers; never run it again
 */
export type SuspectVerdict =
  | { readonly kind: 'clear' }
  | { readonly kind: 'isolate' }
  | { readonly kind: 'wait'; readonly until: Promise<void> }
  | { readonly kind: 'refuse'; readonly crashes: number; readonly retryAfterMs: number }
  | { readonly kind: 'poison'; readonly crashes: number };

/** The part of a worker that blame reads. */
interface CrashedWorker {
  readonly id: string;
  readonly applicationKey: string | undefined;
}

interface MessageSuspect {
  crashes: number;
  lastMs: number;
}

interface FunctionSuspect extends MessageSuspect {
  /** Crashes while it ran alone: there the function is certainly at fault. */
  proven: number;
  /** The worker of the last crash: all its invocations record the same crash. */
  workerId: string;
  refusedUntilMs: number;
  /** The call of this function that runs in isolation; the others wait for its end. */
  probe: { readonly ended: Promise<void>; readonly end: () => void } | undefined;
}

const clear: SuspectVerdict = { kind: 'clear' };
/** A message that ended this many workers is poison. */
const poisonCrashes = 2;
/** A function that ran during this many crashes within the period is a suspect: by chance, a single one proves little. */
const suspectCrashes = 2;
const periodMs = 60_000;
const firstRefusalMs = 500;
const longestRefusalMs = 5_000;
const sweepEveryMs = 30_000;
const keepMs = 600_000;
/** Further messages are judged by their function only. */
const maxMessages = 10_000;

/**
 * Finds the message or the function that ends workers, for one job host. All invocations in flight on a lost worker are
 * suspects: a message by its id, other calls by their function. Suspects run alone, on an isolated worker, so that its next
 * loss proves which one is at fault and ends no other invocation. A suspect that gets an answer there is cleared. A message
 * that ends two workers is poison. A function that does is refused for a while, which doubles up to a few seconds.
 */
export class CrashSuspects {
  readonly #options: CrashSuspectsOptions;
  /** By function and message id. */
  readonly #messages = new Map<string, MessageSuspect>();
  readonly #functions = new Map<string, FunctionSuspect>();
  /** The application whose isolated worker was requested, and when it was last needed. */
  #isolation: { readonly applicationKey: string; neededMs: number } | undefined;
  #applicationKey: string | undefined;
  /** Sweeps go on until nothing is left to forget, also after the job host has stopped. */
  #isSweepScheduled = false;

  constructor(options: CrashSuspectsOptions) {
    this.#options = options;
  }

  /** True while all calls are clear, which is nearly always: then nothing else needs to be asked. */
  get isEmpty(): boolean {
    return this.#messages.size === 0 && this.#functions.size === 0;
  }

  judge(call: InvocationCall): SuspectVerdict {
    const nowMs = this.#options.clock.monotonicMs();
    const key = messageKey(call);
    const message = key === undefined ? undefined : this.#messages.get(key);
    if (message && message.crashes >= poisonCrashes) return { kind: 'poison', crashes: message.crashes };
    const known = this.#functions.get(call.definition.name);
    if (known && isSuspect(known)) {
      const retryAfterMs = known.refusedUntilMs - nowMs;
      // The source of a message would deliver it again and count the delivery, so a message waits.
      if (retryAfterMs > 0 && key === undefined) return { kind: 'refuse', crashes: known.crashes, retryAfterMs };
      if (retryAfterMs > 0) return { kind: 'wait', until: this.#after(retryAfterMs) };
      if (known.probe) return { kind: 'wait', until: known.probe.ended };
      return { kind: 'isolate' };
    }
    return message ? { kind: 'isolate' } : clear;
  }

  /**
   * Begins the run of a call in isolation. Returns whether an isolated worker is there or is started; without one, the call
   * runs on an ordinary worker and is judged in the same way.
   */
  begin(call: InvocationCall): boolean {
    const known = this.#functions.get(call.definition.name);
    if (known && isSuspect(known)) {
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      known.probe = { ended, end };
    }
    const applicationKey = this.#applicationKey;
    if (applicationKey === undefined || !this.#options.isolate(applicationKey)) return false;
    this.#isolation = { applicationKey, neededMs: this.#options.clock.monotonicMs() };
    this.#scheduleSweep();
    return true;
  }

  /** Ends what `begin` began, after its outcome was recorded. */
  end(call: InvocationCall): void {
    const known = this.#functions.get(call.definition.name);
    known?.probe?.end();
    if (known) known.probe = undefined;
  }

  /** Records that a call was in flight when its worker was lost. `isProbe`: it was alone there. */
  recordCrash(call: InvocationCall, worker: CrashedWorker, isProbe: boolean): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#applicationKey = worker.applicationKey;
    const key = messageKey(call);
    if (key !== undefined) this.#recordMessage(key, nowMs);
    this.#recordFunction(call.definition.name, worker.id, nowMs, isProbe);
    this.#observeVerdict(call, worker);
    this.#scheduleSweep();
  }

  /** Records that a suspect got an answer while it ran in isolation: it did not end the worker. */
  recordAnswer(call: InvocationCall): void {
    const key = messageKey(call);
    if (key !== undefined) this.#messages.delete(key);
    const known = this.#functions.get(call.definition.name);
    this.#functions.delete(call.definition.name);
    known?.probe?.end();
  }

  #recordMessage(key: string, nowMs: number): void {
    const crashes = (this.#messages.get(key)?.crashes ?? 0) + 1;
    this.#messages.delete(key); // to the end: the oldest is evicted first
    this.#messages.set(key, { crashes, lastMs: nowMs });
    const [oldest] = this.#messages.keys();
    if (this.#messages.size > maxMessages && oldest !== undefined) this.#messages.delete(oldest);
  }

  #recordFunction(name: string, workerId: string, nowMs: number, isProbe: boolean): void {
    const before = this.#functions.get(name);
    const known: FunctionSuspect =
      before && (isSuspect(before) || nowMs - before.lastMs < periodMs)
        ? before
        : { crashes: 0, proven: 0, workerId: '', lastMs: nowMs, refusedUntilMs: 0, probe: undefined };
    if (known.workerId !== workerId) known.crashes += 1;
    known.workerId = workerId;
    known.lastMs = nowMs;
    if (isProbe) {
      known.proven += 1;
      known.refusedUntilMs = nowMs + Math.min(longestRefusalMs, firstRefusalMs * 2 ** (known.proven - 1));
    }
    this.#functions.set(name, known);
  }

  #observeVerdict(call: InvocationCall, { id: workerId }: CrashedWorker): void {
    const verdict = this.judge(call);
    if (verdict.kind === 'clear') return;
    const { definition, messageId } = call;
    this.#options.observe({
      kind: 'invocation.suspect',
      function: definition.name,
      messageId,
      workerId,
      verdict: verdict.kind,
    });
  }

  #after(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(delayMs, resolve));
  }

  #scheduleSweep(): void {
    if (this.#isSweepScheduled) return;
    this.#isSweepScheduled = true;
    this.#options.clock.after(sweepEveryMs, () => {
      this.#isSweepScheduled = false;
      this.#sweep(this.#options.clock.monotonicMs());
    });
  }

  /** Forgets old suspects, and ends the isolated worker when it was not needed for a while. */
  #sweep(nowMs: number): void {
    for (const [key, { lastMs }] of this.#messages) if (nowMs - lastMs >= keepMs) this.#messages.delete(key);
    for (const [name, known] of this.#functions)
      if (!known.probe && nowMs - known.lastMs >= (isSuspect(known) ? keepMs : periodMs)) this.#functions.delete(name);
    if (this.#isolation && nowMs - this.#isolation.neededMs >= sweepEveryMs) {
      this.#options.endIsolation(this.#isolation.applicationKey);
      this.#isolation = undefined;
    }
    if (!this.isEmpty || this.#isolation) this.#scheduleSweep();
  }
}

function isSuspect({ crashes, proven }: FunctionSuspect): boolean {
  return proven > 0 || crashes >= suspectCrashes;
}

function messageKey({ definition, messageId }: InvocationCall): string | undefined {
  return messageId === undefined ? undefined : `${definition.name}/${messageId}`;
}
