import type { InvocationResponseInit, InvocationResponse } from '@drover/function-rpc';
import type { Binding, FunctionDefinition } from '../applications/function-definition.js';
import { toFunctionDefinitions } from '../applications/function-metadata.js';
import { metadataOf } from '../applications/metadata.test.fixture.js';
import { Settings } from '../applications/settings.js';

/** A function with these bindings, as the runtime knows it; throws when it would be a problem. */
export function definitionOf(name: string, ...bindings: readonly object[]): FunctionDefinition {
  const declared = [{ metadata: metadataOf(name, bindings), file: undefined }];
  const { functions, problems } = toFunctionDefinitions(declared, {
    settings: new Settings({}),
    retry: undefined,
    only: undefined,
  });
  const [definition] = functions;
  if (!definition) throw new Error(problems[0]?.problem ?? 'nothing was declared');
  return definition;
}

/** A function with an HTTP trigger and the usual return. */
export function httpFunction(name: string, options: object = {}, ...others: readonly object[]): FunctionDefinition {
  const trigger = { name: 'req', type: 'httpTrigger', direction: 'in', authLevel: 'anonymous', ...options };
  return definitionOf(name, trigger, { name: '$return', type: 'http', direction: 'out' }, ...others);
}

export function bindingOf(type: string, options: Readonly<Record<string, unknown>> = {}): Binding {
  const { dataType } = options as { dataType?: Binding['dataType'] };
  return { name: 'item', type, direction: 'in', dataType, options };
}

export function responseOf(response: InvocationResponseInit): InvocationResponse {
  return { invocationId: 'i', outputData: [], ...response } as InvocationResponse; // tests fill in all that is read
}
