import type { InvocationRequest } from '@drover/function-rpc';
import type {
  CoreCapabilities,
  CoreContextMetadata,
  CoreInvocationContext,
  InvocationArguments,
  InvocationModel,
  ProgrammingModel,
} from '../../loading/functions-core.js';
import { Invocation } from '../invocation.js';
import { markPlainText } from '../plain-text.js';
import { planOf, type FunctionPlan } from './function-plan.js';
import { contextClassOf, requestClassOf } from './library-classes.js';
import { fastContextClass, type FastContextClass } from './fast-context.js';
import { FastInvocationModel } from './fast-invocation-model.js';
import { isPlainRequest, fastRequestClass, type FastRequestClass } from './fast-request.js';
import { markWholeAnswer } from './whole-answer.js';

/** The newest library version with known behaviour. A newer one runs all invocations itself. */
const newestKnown = { major: 4, minor: 16 };

/** Wraps the model of the v4 library in the fast path. Returns any other model unchanged. */
export function withFastPath(model: ProgrammingModel): ProgrammingModel {
  const [major = 0, minor = 0] = model.version.split('.').map(Number);
  if (model.name !== '@azure/functions' || major !== newestKnown.major) return model;
  return new FastModel(model, { isKnown: minor <= newestKnown.minor });
}

/**
 * The fast path before the v4 library. The first invocations run in the library and reveal its classes; later ones run here,
 * with objects that replace those of the library, in a third of the time. Uncommon invocations always run in the library:
 * special bindings, HTTP streams, uncommon requests and results.
 */
class FastModel implements ProgrammingModel {
  readonly name: string;
  readonly version: string;
  readonly #library: ProgrammingModel;
  readonly #plans = new WeakMap<CoreContextMetadata, { readonly plan: FunctionPlan | undefined }>();
  #context: FastContextClass | undefined;
  #request: FastRequestClass | undefined;
  #streamsHttp = false;
  #isUnknown: boolean;

  constructor(library: ProgrammingModel, { isKnown }: { readonly isKnown: boolean }) {
    this.#library = library;
    this.#isUnknown = !isKnown;
    this.name = library.name;
    this.version = library.version;
  }

  async getCapabilities(defaults: CoreCapabilities): Promise<CoreCapabilities> {
    const capabilities = (await this.#library.getCapabilities?.(defaults)) ?? defaults;
    this.#streamsHttp = 'HttpUri' in capabilities;
    return capabilities;
  }

  getInvocationModel(core: CoreInvocationContext): InvocationModel | Promise<InvocationModel> {
    const plan = this.#planOf(core.metadata);
    const isHttp = plan?.trigger === 'http';
    if (isHttp && this.#streamsHttp) return this.#streamed(core, plan);
    const isOurs = plan && !this.#isUnknown && core instanceof Invocation;
    if (!isOurs || !isUsual(core.request, plan)) return this.#ofLibrary(core, plan);
    if (!this.#context || (isHttp && !this.#request)) return this.#observed(core, plan);
    return new FastInvocationModel(core, plan, {
      classes: { context: this.#context, request: this.#request },
      library: () => this.#library.getInvocationModel(core),
    });
  }

  #ofLibrary(core: CoreInvocationContext, plan: FunctionPlan | undefined): InvocationModel | Promise<InvocationModel> {
    // For HTTP requests and timers the library parses no text.
    if (plan?.trigger === 'other') markPlainText(core.request);
    return this.#library.getInvocationModel(core);
  }

  /** Without a response the library never answers the streamed request: a function that returns nothing gets an empty one. */
  async #streamed(core: CoreInvocationContext, plan: FunctionPlan): Promise<InvocationModel> {
    const model = await this.#library.getInvocationModel(core);
    if (plan.returns !== 'http') return model;
    const mark = plan.outputNames.length > 0 ? markWholeAnswer : (result: unknown): unknown => result;
    return {
      getArguments: () => model.getArguments(),
      invokeFunction: (context, inputs, callback) => model.invokeFunction(context, inputs, callback),
      getResponse: (context, result) => model.getResponse(context, mark(result ?? { status: 204 })),
    };
  }

  #planOf(metadata: CoreContextMetadata): FunctionPlan | undefined {
    const known = this.#plans.get(metadata);
    if (known) return known.plan;
    const plan = planOf(metadata);
    this.#plans.set(metadata, { plan });
    return plan;
  }

  async #observed(core: Invocation, plan: FunctionPlan): Promise<InvocationModel> {
    const model = await this.#ofLibrary(core, plan);
    const getArguments = async (): Promise<InvocationArguments> => {
      const made = await model.getArguments();
      this.#recordClasses(made, plan.trigger === 'http');
      return made;
    };
    return {
      getArguments,
      invokeFunction: (context, inputs, callback) => model.invokeFunction(context, inputs, callback),
      getResponse: (context, result) => model.getResponse(context, result),
    };
  }

  #recordClasses({ context, inputs }: InvocationArguments, isHttp: boolean): void {
    if (!this.#context) {
      const found = contextClassOf(context);
      this.#isUnknown = !found;
      if (found) this.#context = fastContextClass(found);
    }
    if (isHttp && !this.#request && inputs.length === 1) {
      const found = requestClassOf(inputs[0]);
      this.#isUnknown ||= !found;
      if (found) this.#request = fastRequestClass(found);
    }
  }
}

/** False when an input needs the library. */
function isUsual({ inputData }: InvocationRequest, plan: FunctionPlan): boolean {
  for (const { name, data } of inputData) {
    if (name !== plan.triggerName && !plan.inputNames.has(name)) return false;
    if (data?.modelBindingData ?? data?.collectionModelBindingData) return false;
    if (data?.http && (plan.trigger !== 'http' || name !== plan.triggerName || !isPlainRequest(data.http)))
      return false;
  }
  return true;
}
