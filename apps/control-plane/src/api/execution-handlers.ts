import {
  functionRoutes,
  isCodedError,
  type DeadLetterSelection,
  type ExecutionQuery,
  type ExecutionStatus,
  type TenantId,
} from '@drover/contracts';
import { partitionOfExecution } from '@drover/ownership';
import type { ExecutionFilter } from '@drover/execution-store';
import { deadLetterNotFound } from '../executions/errors.js';
import { requestInvalid } from '../errors.js';
import type { PeerReplicas } from '../replicas/peer-replicas.js';
import { handle, reply, type Origin, type RouteHandler } from '../http/route-handler.js';
import type { ExecutionCommands, RedriveResult } from '../executions/queries/execution-commands.js';
import type { ExecutionQueries } from '../executions/queries/execution-queries.js';

export interface ExecutionHandlersOptions {
  readonly queries: ExecutionQueries;
  readonly commands: ExecutionCommands;
  readonly peers: PeerReplicas;
}

interface ExecutionPage {
  readonly executions: ExecutionStatus[];
  readonly next?: string;
}

const defaultLimit = 50;
const defaultRedrive = 100;
/** Of one request with `all`, and of one page of it. */
const maxRedriven = 10_000;
const pageOfAll = 1_000;
/** Accepted in one commit: a thousand single commits would take a minute. */
const redrivenTogether = 50;

/** Lists executions, which asks every partition owner, and redrives dead letters, which may belong to several owners. */
export function executionHandlers({ queries, commands, peers }: ExecutionHandlersOptions): RouteHandler[] {
  /** Unfinished executions are known to their owner only; finished ones are in the store and are merged by id. */
  const page = async (filter: ExecutionFilter, origin: Origin): Promise<ExecutionPage> => {
    const own = await queries.list(filter);
    const mine = toPage({ ...own, executions: own.executions.map((text) => JSON.parse(text) as unknown) });
    if (origin.isForwarded) return mine;
    const others = await Promise.all(
      peers.urls().map((url) => peers.ask(url, origin.address, { ...origin, method: 'GET' })),
    );
    const pages = [mine, ...others.flatMap((answer) => (answer?.status === 200 ? [toPage(answer.body)] : []))];
    if (pages.length === 1) return mine;
    const byId = new Map(pages.flatMap(({ executions }) => executions.map((one) => [one.executionId, one])));
    const ids = [...byId.keys()].toSorted().toReversed();
    const executions = ids.slice(0, filter.limit).flatMap((id) => byId.get(id) ?? []);
    const last = executions.at(-1)?.executionId;
    const hasMore = ids.length > filter.limit || pages.some(({ next }) => next !== undefined);
    return { executions, ...(hasMore && last !== undefined && { next: last }) };
  };

  const redrive = async (tenantId: TenantId, executionId: string, origin: Origin): Promise<RedriveResult> => {
    const url = peers.urlOf(partitionOfExecution(executionId));
    if (url === undefined) return replayHere(commands, tenantId, executionId);
    const answer = await peers.ask(url, `/v1/executions/${executionId}:replay?dead-letter=true`, {
      ...origin,
      method: 'POST',
    });
    const { executionId: redrivenAs, error } = (answer?.body ?? { error: 'HOME_UNREACHABLE' }) as {
      readonly executionId?: string;
      readonly error?: string;
    }; // written by another replica, either answer shape
    return answer?.status === 202 && redrivenAs !== undefined
      ? { executionId, redrivenAs }
      : { executionId, error: error ?? 'INTERNAL_ERROR' };
  };

  /** Ids that a caller names are tried even if they are no dead letters: the answer says so for each. */
  const wantedLetters = async (filter: ExecutionFilter, after: string | undefined): Promise<readonly string[]> =>
    filter.executionIds ?? queries.deadLetters({ ...filter, ...(after !== undefined && { after }) });

  const redriveAll = async (
    tenantId: TenantId,
    wanted: readonly string[],
    origin: Origin,
  ): Promise<RedriveResult[]> => {
    const items: RedriveResult[] = [];
    for (let at = 0; at < wanted.length; at += redrivenTogether) {
      const some = wanted.slice(at, at + redrivenTogether);
      items.push(...(await Promise.all(some.map((executionId) => redrive(tenantId, executionId, origin)))));
    }
    return items;
  };

  return [
    handle(functionRoutes.listExecutions, async ({ caller, query, origin }) =>
      reply(200, await page(toFilter(caller.tenantId, query), origin)),
    ),
    handle(functionRoutes.listDeadLetters, async ({ caller, query, origin }) => {
      const filter = { ...toFilter(caller.tenantId, query), deadLettersOnly: true };
      return reply(200, await page(filter, { ...origin, isForwarded: true })); // dead letters are all in the store
    }),
    handle(functionRoutes.redriveDeadLetters, async ({ caller: { tenantId }, body, origin }) => {
      const filter = toSelection(tenantId, body);
      const items: RedriveResult[] = [];
      for (let after: string | undefined; items.length < maxRedriven; ) {
        const wanted = await wantedLetters(filter, after);
        const redriven = await redriveAll(tenantId, wanted, origin);
        items.push(...redriven);
        // A full queue refuses the rest as well; the caller repeats the request when there is room.
        const isStuck = redriven.length > 0 && redriven.every(({ redrivenAs }) => redrivenAs === undefined);
        if (body.all !== true || isStuck || wanted.length < filter.limit) break;
        after = wanted.at(-1);
      }
      const redriven = items.filter(({ redrivenAs }) => redrivenAs !== undefined).length;
      return reply(202, { redriven, remaining: await queries.countDeadLetters(filter), items });
    }),
    handle(functionRoutes.deleteDeadLetter, async ({ caller: { tenantId }, params: { executionId } }) => {
      const deleted = await commands.deleteDeadLetters({ tenantId, executionIds: [executionId], limit: 1 });
      if (deleted === 0) throw deadLetterNotFound({ executionId });
      return reply(204, undefined);
    }),
    handle(functionRoutes.deleteDeadLetters, async ({ caller: { tenantId }, body }) => {
      const filter = toSelection(tenantId, body);
      let deleted = 0;
      for (let last = filter.limit; last === filter.limit && (deleted === 0 || body.all === true); deleted += last)
        last = await commands.deleteDeadLetters(filter);
      return reply(200, { deleted, remaining: await queries.countDeadLetters(filter) });
    }),
  ];
}

async function replayHere(
  commands: ExecutionCommands,
  tenantId: TenantId,
  executionId: string,
): Promise<RedriveResult> {
  try {
    const accepted = await commands.replay(tenantId, executionId, true);
    return 'refusal' in accepted
      ? { executionId, error: accepted.refusal.error.code }
      : { executionId, redrivenAs: accepted.executionId };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { executionId, error: error.code };
  }
}

function toFilter(tenantId: TenantId, query: ExecutionQuery): ExecutionFilter {
  const { function: functionName, status, from, to, idempotencyKey, traceId, limit = defaultLimit, after } = query;

  return {
    tenantId,
    limit,
    ...(functionName !== undefined && { functionName }),
    ...(status !== undefined && { status }),
    ...(from !== undefined && { from: toTime(from, 'querystring/from') }),
    ...(to !== undefined && { to: toTime(to, 'querystring/to') }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(traceId !== undefined && { traceId }),
    ...(after !== undefined && { after }),
  };
}

/** Returns which dead letters a body selects. Throws when it selects none or contradicts itself. */
function toSelection(tenantId: TenantId, selection: DeadLetterSelection): ExecutionFilter {
  const { executionIds, function: functionName, errorCode, from, to, all, limit = defaultRedrive } = selection;
  const isFiltered = (functionName ?? errorCode ?? from ?? to) !== undefined || all === true;
  if ((executionIds !== undefined) === isFiltered)
    throw requestInvalid({
      problem: 'body must have either executionIds, or a filter: function, errorCode, from, to, or "all": true',
    });
  return {
    tenantId,
    limit: executionIds?.length ?? (all === true ? pageOfAll : limit),
    ...(executionIds && { executionIds: [...new Set(executionIds)] }), // without duplicates
    ...(functionName !== undefined && { functionName }),
    ...(errorCode !== undefined && { errorCode }),
    ...(from !== undefined && { from: toTime(from, 'body/from') }),
    ...(to !== undefined && { to: toTime(to, 'body/to') }),
  };
}

/** RFC 3339 allows leap seconds; `Date` does not. */
function toTime(instant: string, name: string): number {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) throw requestInvalid({ problem: `${name} must be an instant such as 2030-01-31T12:00:00Z` });
  return ms;
}

function toPage(body: unknown): ExecutionPage {
  return body as ExecutionPage; // written by execution-view.ts, here or at another replica
}
