import { prepared, type DedicatedConnection, type Notifications } from '@drover/database';
import { deadlineAfter, sleep, WakeUp, type Clock, type Randomness } from '@drover/service-kit';
import type { BarrierParts, BarrierRequest } from '../barrier-parts.js';
import type { BarrierOptions } from '../event-bus.js';
import { readAnswered, readAsked, type Answered, type Asked } from './barrier-messages.js';
import { memberLockClass, memberName, type BusMember } from './bus-member.js';
import type { OutboxRelay } from './outbox-relay.js';

export interface InstallationBarrierOptions {
  readonly connection: DedicatedConnection;
  readonly notifications: Notifications;
  readonly relay: Pick<OutboxRelay, 'flush'>;
  readonly member: BusMember;
  readonly parts: Pick<BarrierParts, 'pass'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

interface MemberRow {
  readonly position: number;
  readonly number: number;
  readonly name: string | null;
}

/** A request of this process, while it waits. */
interface BarrierCall {
  /** What each member still waits for: nothing, if the change holds there. */
  readonly answers: Map<number, readonly string[]>;
  readonly wakeUp: WakeUp;
}

const askChannel = 'drover_barriers';
/**
 * Notifications may be lost while a member reconnects: it is asked again, and members that have left are not waited for. A member that
 * did not answer the last time, such as a process that was stopped by a signal, delays changes no longer than this.
 */
const askAgainMs = 500;
/** Answers that are being prepared for others; beyond, requests are dropped, and come again. */
const maxAnswering = 1_000;
/** A notification holds less than 8,000 bytes. */
const maxProblemLength = 500;
const maxProblems = 8;
/** Part of the time of the caller in which a member answers. */
const answerShare = 0.8;

// The position is read after the relay has moved what the caller has committed.
const askStatement = prepared(
  'bus-barrier-ask',
  `with asked as materialized (
     select position, pg_notify('${askChannel}', ($1::jsonb || jsonb_build_object('position', position))::text)
     from drover.event_head
   )
   select asked.position, lock.objid::bigint as number, activity.application_name as name
   from asked left join pg_locks lock on lock.locktype = 'advisory' and lock.classid = ${memberLockClass}::oid and lock.objsubid = 2
     and lock.granted and lock.database = (select oid from pg_database where datname = current_database())
   left join pg_stat_activity activity on activity.pid = lock.pid`,
);
const answerStatement = prepared('bus-barrier-answer', 'select pg_notify($1, $2)');

/**
 * Asks all members whether they have handled all events up to a position, and answers the requests of others. A request and its answers are
 * notifications: nothing is polled, and nothing is stored (docs/decisions/0088).
 */
export class InstallationBarrier {
  readonly #options: InstallationBarrierOptions;
  readonly #channel: string;
  /** Open requests of this process, by id. */
  readonly #open = new Map<string, BarrierCall>();
  readonly #answering = new Set<string>();
  /** Members that let a request of this process expire and were not heard of since. */
  #silent = new Set<number>();

  constructor(options: InstallationBarrierOptions) {
    this.#options = options;
    this.#channel = `drover_barrier_${options.randomness.uuid().replaceAll('-', '')}`;
  }

  async listen(): Promise<void> {
    const { notifications } = this.#options;
    await notifications.listen(askChannel, (payload) => {
      const asked = payload === undefined ? undefined : readAsked(payload);
      if (asked) void this.#answer(asked);
    });
    await notifications.listen(this.#channel, (payload) => {
      const answered = payload === undefined ? undefined : readAnswered(payload);
      if (answered) this.#answered(answered);
    });
  }

  /** See `EventBus.barrier`. */
  async wait({ withinMs, about }: BarrierOptions): Promise<readonly string[]> {
    const { clock, relay, randomness } = this.#options;
    const deadline = deadlineAfter(clock, withinMs);
    const id = randomness.uuid();
    const call = { answers: new Map<number, readonly string[]>(), wakeUp: new WakeUp() };
    this.#open.set(id, call);
    try {
      const isRelayed = await endsBefore(deadline.signal, relay.flush());
      if (!isRelayed) return ['PostgreSQL, which does not take the event of the change'];
      return await this.#collect({ id, answerTo: this.#channel, withinMs, about }, call, deadline.signal);
    } finally {
      deadline.cancel();
      this.#open.delete(id);
    }
  }

  /** Asks until all members have answered, or only silent ones have not. */
  async #collect(request: Asked, call: BarrierCall, signal: AbortSignal): Promise<readonly string[]> {
    let members: readonly MemberRow[] | undefined;
    let isPassing = false;
    while (!signal.aborted) {
      members = (await this.#ask(request, signal)) ?? members;
      const [first] = members ?? [];
      if (first && !isPassing) void this.#passHere({ ...request, position: first.position }, call);
      isPassing ||= first !== undefined;
      const missing = members && (await this.#untilAnswered(members, call, signal));
      if (missing?.every(({ number }) => this.#silent.has(number))) break;
    }
    if (!members) return ['PostgreSQL, which does not answer'];
    this.#silent = new Set(unanswered(members, call).map(({ number }) => number));
    return members.flatMap(({ number, name }) => {
      const waitsFor = call.answers.get(number) ?? ['no answer'];
      return waitsFor.map((problem) => `${memberName(name, number)}: ${problem}`);
    });
  }

  /** Returns the members that have not answered when it is time to ask again; none as soon as all have. */
  async #untilAnswered(
    members: readonly MemberRow[],
    call: BarrierCall,
    signal: AbortSignal,
  ): Promise<readonly MemberRow[]> {
    const { clock } = this.#options;
    const round = deadlineAfter(clock, askAgainMs, signal);
    while (unanswered(members, call).length > 0 && !round.signal.aborted) {
      call.wakeUp.reset();
      if (unanswered(members, call).length > 0) await call.wakeUp.wait(clock, askAgainMs, round.signal);
    }
    round.cancel();
    return unanswered(members, call);
  }

  /** Returns the members that were asked; undefined if the database does not answer, after a pause. */
  async #ask(request: Asked, signal: AbortSignal): Promise<readonly MemberRow[] | undefined> {
    const { connection, clock } = this.#options;
    try {
      const asked = connection.query<MemberRow>(askStatement, [JSON.stringify(request)]);
      return (await endsBefore(signal, asked)) ? await asked : undefined;
    } catch {
      await sleep(clock, askAgainMs, signal).catch(() => undefined);
      return undefined;
    }
  }

  /** This process needs no notification to itself. */
  async #passHere(request: BarrierRequest, call: BarrierCall): Promise<void> {
    const waitsFor = await this.#options.parts.pass(request);
    for (const number of this.#options.member.numbers) call.answers.set(number, waitsFor);
    call.wakeUp.notify();
  }

  async #answer({ id, answerTo, position, withinMs, about }: Asked & BarrierRequest): Promise<void> {
    const { parts, member, connection } = this.#options;
    if (answerTo === this.#channel || this.#answering.has(id) || this.#answering.size >= maxAnswering) return;
    this.#answering.add(id);
    try {
      // Earlier than the caller gives up, so that it hears what this process waits for.
      const waitsFor = await parts.pass({ position, withinMs: withinMs * answerShare, about });
      const texts = waitsFor.map((text) => text.slice(0, maxProblemLength)).slice(0, maxProblems);
      const answer: Answered = { id, members: member.numbers, waitsFor: texts };
      await connection.query(answerStatement, [answerTo, JSON.stringify(answer)]);
    } catch {
      // Without a connection nothing can be told: the caller asks again.
    } finally {
      this.#answering.delete(id);
    }
  }

  #answered({ id, members, waitsFor }: Answered): void {
    const call = this.#open.get(id);
    for (const number of members) {
      this.#silent.delete(number);
      call?.answers.set(number, waitsFor);
    }
    call?.wakeUp.notify();
  }
}

const unanswered = (members: readonly MemberRow[], { answers }: BarrierCall): readonly MemberRow[] =>
  members.filter(({ number }) => !answers.has(number));

/** Resolves with whether a promise was fulfilled before the signal aborts. Rejects if it is rejected before. */
function endsBefore(signal: AbortSignal, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const expire = (): void => resolve(false);
    if (signal.aborted) expire();
    signal.addEventListener('abort', expire, { once: true });
    promise.then(() => resolve(true), reject).finally(() => signal.removeEventListener('abort', expire));
  });
}
