import type { InvocationRequest } from '@drover/function-rpc';
import type {
  Capabilities,
  CoreContextMetadata,
  CoreInvocationContext,
  InvocationArguments,
  InvocationModel,
  ProgrammingModel,
} from '../../loading/functions-core.js';
import { Invocation } from '../invocation.js';
import { spareParsing } from '../plain-text.js';
import { planOf, type FunctionPlan } from './function-plan.js';
import { contextClassOf, requestClassOf } from './library-classes.js';
import { quickContextClass, type QuickContextClass } from './quick-context.js';
import { QuickInvocationModel } from './quick-invocation-model.js';
import { isPlainRequest, quickRequestClass, type QuickRequestClass } from './quick-request.js';

/** The newest library whose invocations we know. A newer one may do more with them: it does them itself. */
const newestKnown = { major: 4, minor: 16 };

/** The model, or one that does the same in less time where it is the v4 library. */
export function quicken(model: ProgrammingModel): ProgrammingModel {
  const [major = 0, minor = 0] = model.version.split('.').map(Number);
  if (model.name !== '@azure/functions' || major !== newestKnown.major) return model;
  return new QuickModel(model, { isKnown: minor <= newestKnown.minor });
}

/**
 * Stands before the v4 library. The first invocations go to the library, which shows its classes in them; what follows is
 * done here, with objects that pass for those of the library, in a third of the time. Whatever is not of the usual kind
 * still goes to the library: other triggers, HTTP streams, unusual requests and results.
 */
class QuickModel implements ProgrammingModel {
  readonly name: string;
  readonly version: string;
  readonly #library: ProgrammingModel;
  readonly #plans = new WeakMap<CoreContextMetadata, { readonly plan: FunctionPlan | undefined }>();
  #context: QuickContextClass | undefined;
  #request: QuickRequestClass | undefined;
  #streamsHttp = false;
  #isUnknown: boolean;

  constructor(library: ProgrammingModel, { isKnown }: { readonly isKnown: boolean }) {
    this.#library = library;
    this.#isUnknown = !isKnown;
    this.name = library.name;
    this.version = library.version;
  }

  async getCapabilities(defaults: Capabilities): Promise<Capabilities> {
    const capabilities = (await this.#library.getCapabilities?.(defaults)) ?? defaults;
    this.#streamsHttp = 'HttpUri' in capabilities;
    return capabilities;
  }

  getInvocationModel(core: CoreInvocationContext): InvocationModel | Promise<InvocationModel> {
    const plan = this.#planOf(core.metadata);
    const isHttp = plan?.trigger === 'http';
    const isOurs = plan && !this.#isUnknown && !(isHttp && this.#streamsHttp) && core instanceof Invocation;
    if (!isOurs || !isUsual(core.request, plan)) return this.#ofLibrary(core, plan);
    if (!this.#context || (isHttp && !this.#request)) return this.#learning(core, plan);
    return new QuickInvocationModel(core, plan, {
      classes: { context: this.#context, request: this.#request },
      library: () => this.#library.getInvocationModel(core),
    });
  }

  #ofLibrary(core: CoreInvocationContext, plan: FunctionPlan | undefined): InvocationModel | Promise<InvocationModel> {
    // Of HTTP requests and timers the library looks at no text.
    if (plan?.trigger === 'other') spareParsing(core.request);
    return this.#library.getInvocationModel(core);
  }

  #planOf(metadata: CoreContextMetadata): FunctionPlan | undefined {
    const known = this.#plans.get(metadata);
    if (known) return known.plan;
    const plan = planOf(metadata);
    this.#plans.set(metadata, { plan });
    return plan;
  }

  async #learning(core: Invocation, plan: FunctionPlan): Promise<InvocationModel> {
    const model = await this.#ofLibrary(core, plan);
    const getArguments = async (): Promise<InvocationArguments> => {
      const made = await model.getArguments();
      this.#learn(made, plan.trigger === 'http');
      return made;
    };
    return {
      getArguments,
      invokeFunction: (context, inputs, callback) => model.invokeFunction(context, inputs, callback),
      getResponse: (context, result) => model.getResponse(context, result),
    };
  }

  #learn({ context, inputs }: InvocationArguments, isHttp: boolean): void {
    if (!this.#context) {
      const found = contextClassOf(context);
      this.#isUnknown = !found;
      if (found) this.#context = quickContextClass(found);
    }
    if (isHttp && !this.#request && inputs.length === 1) {
      const found = requestClassOf(inputs[0]);
      this.#isUnknown ||= !found;
      if (found) this.#request = quickRequestClass(found);
    }
  }
}

/** False when an input is something that only the library knows what to make of. */
function isUsual({ inputData }: InvocationRequest, plan: FunctionPlan): boolean {
  for (const { name, data } of inputData) {
    if (name !== plan.triggerName && !plan.inputNames.has(name)) return false;
    if (data?.modelBindingData ?? data?.collectionModelBindingData) return false;
    if (data?.http && (plan.trigger !== 'http' || name !== plan.triggerName || !isPlainRequest(data.http)))
      return false;
  }
  return true;
}
