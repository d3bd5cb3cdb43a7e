import type { RpcFunctionMetadataInit } from '@drover/function-rpc';
import { Disposable } from './disposable.js';
import type {
  CoreContextMetadata,
  CoreFunctionMetadata,
  FunctionCallback,
  ProgrammingModel,
} from './functions-core.js';
import type { HookData } from './hook-contexts.js';
import { Hooks } from './hooks.js';
import { toRpcMetadata } from './rpc-metadata.js';
import { SystemError } from './system-errors.js';

/** A function that can be invoked. */
export interface LoadedFunction {
  readonly id: string;
  readonly name: string;
  /** The category of its log lines. */
  readonly category: string;
  readonly metadata: CoreContextMetadata;
  /** Input bindings besides the trigger. */
  readonly inputNames: readonly string[];
  readonly callback: FunctionCallback;
  readonly model: () => ProgrammingModel;
}

interface RegisteredFunction extends LoadedFunction {
  readonly rpcMetadata: RpcFunctionMetadataInit;
}

/**
 * The functions, hooks and programming model of one app.
 *
 * - Functions are added by registration while files load (v4), or by load requests of the host (v3), never by both.
 * - The first request for functions ends registration, so that the list of the host stays valid.
 */
export class FunctionApp {
  readonly hooks = new Hooks();
  /** Shared by all hooks. */
  readonly appHookData: HookData = {};
  /** Shared by appStart and appTerminate hooks. */
  readonly appLevelHookData: HookData = {};
  /** The entry point that is being loaded. */
  currentFile: string | undefined;

  readonly #registered = new Map<string, RegisteredFunction>();
  readonly #legacy = new Map<string, LoadedFunction>();
  readonly #fallbackModel: () => ProgrammingModel | undefined;
  #model: ProgrammingModel | undefined;
  #isLocked = false;

  /** `fallbackModel` is used when an app has registered functions without setting a model. */
  constructor(fallbackModel: () => ProgrammingModel | undefined) {
    this.#fallbackModel = fallbackModel;
  }

  get programmingModel(): ProgrammingModel | undefined {
    return this.#model ?? (this.#registered.size > 0 ? this.#fallbackModel() : undefined);
  }

  set programmingModel(model: ProgrammingModel | undefined) {
    this.#model = model;
  }

  get registeredCount(): number {
    return this.#registered.size;
  }

  get rpcMetadata(): RpcFunctionMetadataInit[] {
    return [...this.#registered.values()].map(({ rpcMetadata }) => rpcMetadata);
  }

  get functionIds(): string[] {
    return [...this.#registered.keys(), ...this.#legacy.keys()];
  }

  find(functionId: string): LoadedFunction | undefined {
    return this.#registered.get(functionId) ?? this.#legacy.get(functionId);
  }

  /** Rejects registrations from now on. */
  lock(): void {
    this.#isLocked = true;
  }

  register(metadata: CoreFunctionMetadata, callback: FunctionCallback): Disposable {
    const { name } = metadata;
    const id = metadata.functionId || name;
    if (this.#isLocked) {
      throw new SystemError(`A function can only be registered during app startup; "${name}" was registered later.`);
    }
    if (this.#registered.has(id)) throw new SystemError(`A function with id "${id}" has already been registered.`);
    const rpcMetadata = toRpcMetadata(metadata, this.currentFile);
    this.#registered.set(id, {
      id,
      name,
      category: `${name}.Invocation`,
      metadata: {
        ...metadata,
        functionId: id,
        directory: rpcMetadata.directory ?? '',
        scriptFile: rpcMetadata.scriptFile ?? '',
      },
      inputNames: inputNamesOf(metadata),
      callback,
      model: () => this.#requireModel(),
      rpcMetadata,
    });
    return new Disposable(() => {
      if (this.#isLocked) throw new SystemError('A function can only be disposed during app startup.');
      this.#registered.delete(id);
    });
  }

  addLegacy(loaded: LoadedFunction): void {
    this.#legacy.set(loaded.id, loaded);
  }

  #requireModel(): ProgrammingModel {
    const model = this.programmingModel;
    if (!model)
      throw new SystemError('The app has registered functions but has not set a programming model to run them.');
    return model;
  }
}

/** Returns the names of the input bindings besides the trigger. */
export function inputNamesOf({ bindings }: CoreFunctionMetadata): string[] {
  return Object.entries(bindings).flatMap(([name, { type, direction }]) =>
    direction === 'in' && !/trigger$/i.test(type ?? '') ? [name] : [],
  );
}
