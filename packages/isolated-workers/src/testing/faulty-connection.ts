import { kind, type ToHost, type ToWorker } from '../types/wire-message.js';
import type { Connection, ConnectionEvents } from '../types/driver.js';
import type { CrashFacts } from '../types/errors.js';
import { faultsOf, type Fault, type FaultPlan, type InjectedFault } from './fault-plan.js';

export interface FaultyLife {
  readonly life: number;
  readonly plan: FaultPlan;
  readonly events: ConnectionEvents;
  readonly report: (fault: InjectedFault) => void;
}

type MessageFault = Extract<Fault, { readonly direction: string }>;

/** Wraps the connection to one worker and injects the faults of the plan. */
export class FaultyConnection implements Connection {
  readonly #inner: Connection;
  readonly #life: FaultyLife;
  #requests = 0;
  #answers = 0;
  readonly #messages = { 'to-worker': 0, 'to-host': 0 };
  /** True after a planned kill: later messages are dropped, so that the outcome does not depend on timing. */
  #silenced = false;
  /** Delivered after the report of the end. */
  readonly #afterDeath: ToHost[] = [];
  readonly #held = new Map<ToHost, NodeJS.Timeout>();
  #over = false;

  constructor(life: FaultyLife, connect: (events: ConnectionEvents) => Connection) {
    this.#life = life;
    this.#inner = connect({
      onMessage: (message) => this.#fromWorker(message),
      onShutdown: (facts) => this.#ended(facts),
    });
  }

  get pid(): number | undefined {
    return this.#inner.pid;
  }

  send(message: ToWorker, transfer?: readonly ArrayBuffer[]): void {
    const pass = (): void => {
      if (!this.#over) this.#inner.send(message, transfer);
    };
    if (message[0] !== kind.request) return this.#inject('to-worker', (this.#messages['to-worker'] += 1), pass);
    this.#requests += 1;
    const kill = this.#faults('kill-at-request').some(({ request }) => request === this.#requests);
    this.#inject('to-worker', (this.#messages['to-worker'] += 1), pass);
    if (kill) this.#kill({ kind: 'kill-at-request', life: this.#life.life, at: this.#requests });
  }

  hadStarted(id: number): boolean | undefined {
    return this.#inner.hadStarted(id);
  }

  sample(): ReturnType<Connection['sample']> {
    return this.#inner.sample();
  }

  end(graceMs: number): Promise<void> {
    return this.#inner.end(graceMs);
  }

  kill(): void {
    this.#inner.kill();
  }

  setRef(isRef: boolean): void {
    this.#inner.setRef?.(isRef);
  }

  #fromWorker(message: ToHost): void {
    if (this.#silenced) return;
    if (message[0] === kind.ready) return this.#ready(message);
    const isAnswer = message[0] === kind.result || message[0] === kind.error;
    if (isAnswer) this.#answers += 1;
    if (isAnswer && this.#faults('answer-after-death').some(({ answer }) => answer === this.#answers)) {
      this.#afterDeath.push(message);
      return this.#kill({ kind: 'answer-after-death', life: this.#life.life, at: this.#answers });
    }
    this.#inject('to-host', (this.#messages['to-host'] += 1), () => this.#deliver(message));
  }

  #ready(message: ToHost): void {
    if (this.#faults('kill-before-ready').length > 0)
      return this.#kill({ kind: 'kill-before-ready', life: this.#life.life });
    this.#inject('to-host', 'ready', () => this.#life.events.onMessage(message));
  }

  #deliver(message: ToHost): void {
    const [overtakes] = this.#faults('exit-overtakes');
    if (!overtakes || this.#over) return this.#life.events.onMessage(message);
    const inTime = setTimeout(() => {
      this.#held.delete(message);
      this.#life.events.onMessage(message);
    }, overtakes.withinMs);
    this.#held.set(message, inTime);
  }

  /** Drops, duplicates or delays the message as planned; otherwise passes it. */
  #inject(direction: MessageFault['direction'], at: number | 'ready', pass: () => void): void {
    const { life, plan, report } = this.#life;
    const fault = (['drop-message', 'duplicate-message', 'delay-message'] as const)
      .flatMap((each): MessageFault[] => faultsOf(plan, each, life))
      .find((each) => each.direction === direction && each.message === at);
    if (!fault) return pass();
    report({ kind: fault.kind, life, at });
    if (fault.kind === 'drop-message') return;
    if (fault.kind === 'delay-message') return void setTimeout(pass, fault.byMs);
    pass();
    pass();
  }

  #kill(fault: InjectedFault): void {
    this.#life.report(fault);
    this.#silenced = true;
    this.#inner.kill();
  }

  #ended(facts: CrashFacts): void {
    const [delay] = this.#faults('delay-exit');
    if (!delay) return this.#reportEnd(facts);
    this.#life.report({ kind: 'delay-exit', life: this.#life.life });
    setTimeout(() => this.#reportEnd(facts), delay.byMs);
  }

  #reportEnd(facts: CrashFacts): void {
    this.#over = true;
    if (this.#held.size > 0) this.#life.report({ kind: 'exit-overtakes', life: this.#life.life });
    this.#life.events.onShutdown(facts);
    for (const inTime of this.#held.values()) clearTimeout(inTime);
    for (const message of [...this.#held.keys(), ...this.#afterDeath]) this.#life.events.onMessage(message);
    this.#held.clear();
    this.#afterDeath.length = 0;
  }

  #faults<Kind extends Fault['kind']>(wanted: Kind): Extract<Fault, { kind: Kind }>[] {
    return faultsOf(this.#life.plan, wanted, this.#life.life);
  }
}
