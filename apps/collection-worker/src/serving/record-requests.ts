import {
  authenticationRequired,
  recordAccessDenied,
  type Authentication,
  type Authenticator,
  type Caller,
  type CollectionModel,
  type OperationDependencies,
  type ParentRecord,
  type RecordAnswer,
  type RecordLimits,
  type RecordRequest,
  type RecordService,
  type RecordContext,
} from '@drover/collection-engine';
import { hasCode, isCodedError, routeGenerationHeader } from '@drover/contracts';
import { isPoolExhausted, type Database } from '@drover/database';
import type { Observe } from '@drover/service-kit';
import type { CollectionDirectory } from '../directory/collection-directory.js';
import {
  childAmbiguous,
  childUnknown,
  collectionNotAssigned,
  recordConnectionsBusy,
  recordMethodNotAllowed,
  recordStatementTimeout,
} from '../errors.js';
import type { CollectionUse } from '../membership/collection-use.js';
import type { CollectionWorkerObservation } from '../observations.js';
import { matchRecordRoute, type RecordRouteMatch } from '../routing/match-route.js';
import { contextOf } from './caller-context.js';
import { mayBeOutdated } from './outdated-definition.js';
import type { RecordExchange } from './record-exchange.js';
import { readRecords, readUpload } from './request-body.js';

export interface RecordRequestsOptions {
  readonly service: RecordService;
  /** Each request gets a view of the database of its own. */
  readonly dependencies: Omit<OperationDependencies, 'database'> & { readonly database: Pick<Database, 'forCaller'> };
  readonly directory: Pick<CollectionDirectory, 'known' | 'find' | 'revalidate'>;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'authenticateCached'>;
  readonly limits: RecordLimits;
  /** Aborts when the process drains: endless responses end then. */
  readonly draining: AbortSignal;
  /** Decides whether requests are served here; undefined if all are. */
  readonly use: Pick<CollectionUse, 'begin' | 'endingOf'> | undefined;
  /** Called after every request that may have written. */
  readonly onWritten: () => void;
  readonly observe: Observe<CollectionWorkerObservation>;
}

/** What an operation is called with, apart from the collection. */
interface Call {
  readonly exchange: RecordExchange;
  readonly match: RecordRouteMatch;
  readonly context: RecordContext;
  readonly body: Buffer;
}

const noBody = Buffer.alloc(0);

/** Serves requests for records: route → authenticate → read the body → find the collection → run the operation → answer. */
export class RecordRequests {
  readonly #options: RecordRequestsOptions;

  constructor(options: RecordRequestsOptions) {
    this.#options = options;
  }

  /** Answers the request, in whatever way it ends. */
  async serve(exchange: RecordExchange): Promise<void> {
    const { limits } = this.#options;
    try {
      const { method, url } = exchange.request;
      const match = matchRecordRoute(method, url);
      exchange.route = match.route.path;
      const admitted = this.#authenticate(exchange);
      const caller = admitted instanceof Promise ? await admitted : admitted;
      const context = contextOf(caller, limits, exchange.request, match.query);
      const read = match.route.body === 'upload' ? noBody : readRecords(exchange.wire, limits.bodyBytes);
      const body = read instanceof Promise ? await read : read;
      const answer = await this.#run({ exchange, match, context, body });
      if (match.route.method !== 'GET') this.#options.onWritten();
      await exchange.answer(answer);
    } catch (error) {
      this.#refuse(exchange, error);
    }
  }

  #refuse(exchange: RecordExchange, error: unknown): void {
    if (hasCode(error, 'DATABASE_TIMEOUT'))
      return exchange.refuse(recordStatementTimeout({ limitMs: this.#options.limits.statementTimeoutMs }, error));
    if (isPoolExhausted(error)) return exchange.refuse(recordConnectionsBusy({}, error));
    const isMethod = isCodedError(error) && error.code === recordMethodNotAllowed.code;
    const { allowed } = isMethod ? error.details : {};
    if (hasCode(error, collectionNotAssigned.code) && isCodedError(error))
      return exchange.refuse(error, [routeGenerationHeader, String(error.details['generation'])]);
    exchange.refuse(error, Array.isArray(allowed) ? ['allow', allowed.join(', ')] : []);
  }

  /** Without waiting if the key is known, as for nearly all requests. */
  #authenticate(exchange: RecordExchange): Caller | Promise<Caller> {
    const { authenticator } = this.#options;
    const { authorization } = exchange.request.headers;
    const cached = authenticator.authenticateCached(authorization);
    if (cached) return this.#admit(exchange, cached);
    return authenticator.authenticate(authorization).then((authentication) => this.#admit(exchange, authentication));
  }

  #admit(exchange: RecordExchange, authentication: Authentication): Caller {
    const { requestId } = exchange;
    if ('refused' in authentication) {
      const { refused: reason, keyId } = authentication;
      this.#options.observe({ kind: 'access.refused', requestId, reason, keyId });
      throw authenticationRequired({});
    }
    exchange.keyId = authentication.caller.keyId;
    return authentication.caller;
  }

  /**
   * Runs the operation. If it fails in a way that an outdated definition explains, and a definition was outdated, it runs once more:
   * nothing was written, and a client that changed a definition may use the change as soon as it was confirmed.
   */
  async #run(call: Call): Promise<RecordAnswer> {
    try {
      return await this.#runOnce(call);
    } catch (error) {
      const { exchange, match, context } = call;
      if (match.route.body === 'upload' || !mayBeOutdated(error)) throw error;
      if (!(await this.#options.directory.revalidate(context.tenantId))) throw error;
      const { requestId, route } = exchange;
      this.#options.observe({ kind: 'collections.retried', requestId, route });
      return this.#runOnce(call);
    }
  }

  async #runOnce(call: Call): Promise<RecordAnswer> {
    const { service, directory } = this.#options;
    const { exchange, match, context } = call;
    const { route, collection: name = '', parent: ancestor } = match;
    const dependencies = this.#dependenciesOf(exchange);
    if (route.of === 'tenant') return service[route.operation](context, this.#toRequest(call, undefined), dependencies);
    const { tenantId } = context;
    const collection = directory.known(tenantId, name) ?? (await directory.find(tenantId, name));
    exchange.schemaVersion = collection.version;
    if (this.#options.use && exchange.collectionId === undefined)
      this.#begin(call, ancestor ? await directory.find(tenantId, ancestor.collection) : collection);
    const parent = ancestor && (await this.#parentOf(ancestor, collection, context));
    return service[route.operation](context, collection, this.#toRequest(call, parent), dependencies);
  }

  /** `collection` is the first one of the path, by which gateways choose the worker. */
  #begin({ exchange, match }: Call, collection: CollectionModel): void {
    if (exchange.wire.isOver) return; // its end was counted already
    const { use } = this.#options;
    if (use?.begin(collection, exchange.request.headers, match.route.isEndless === true))
      exchange.collectionId = collection.id;
  }

  /** A client that leaves cancels the statements of its request; those that serve other requests, too, go on. */
  #dependenciesOf(exchange: RecordExchange): OperationDependencies {
    const { dependencies } = this.#options;
    const database = dependencies.database.forCaller();
    exchange.onLeft = () => database.cancel();
    if (exchange.wire.isOver) database.cancel();
    return { ...dependencies, database: exchange.statements.timed(database) };
  }

  #toRequest({ exchange, match, body }: Call, parent: ParentRecord | undefined): RecordRequest {
    const { wire, collectionId } = exchange;
    const { draining, use } = this.#options;
    const { route, path, query, id, version } = match;
    return {
      path,
      query,
      headers: exchange.request.headers as RecordRequest['headers'], // only set-cookie, which responses have, is a list
      id,
      version,
      parent,
      body,
      upload: route.body === 'upload' ? readUpload(wire) : undefined,
      get signal() {
        if (!route.isEndless) return wire.signal;
        const ending = collectionId === undefined ? undefined : use?.endingOf(collectionId);
        return AbortSignal.any(ending ? [wire.signal, draining, ending] : [wire.signal, draining]);
      },
    };
  }

  async #parentOf(
    { collection: name, id }: NonNullable<RecordRouteMatch['parent']>,
    child: CollectionModel,
    { tenantId, access }: RecordContext,
  ): Promise<ParentRecord> {
    const collection = await this.#options.directory.find(tenantId, name);
    if (!access.mayRead(collection)) throw recordAccessDenied({ collection: name, right: 'read' });
    const fields = [...child.fields.values()].filter((field) => field.definition.references?.collection === name);
    const [field, another] = fields;
    if (!field) throw childUnknown({ parent: name, child: child.name });
    if (another) throw childAmbiguous({ parent: name, child: child.name, fields: fields.map((one) => one.name) });
    return { collection, id, field };
  }
}
