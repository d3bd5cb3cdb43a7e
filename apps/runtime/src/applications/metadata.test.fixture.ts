import type { RpcFunctionMetadata } from '@drover/function-rpc';

/** Metadata as a worker of the v4 model sends it: bindings as objects, or as the text that stands for one. */
export function metadataOf(name: string, bindings: readonly (object | string)[]): RpcFunctionMetadata {
  const objects = bindings.filter(
    (binding): binding is { name?: string; type?: string } => typeof binding === 'object',
  );
  return {
    name,
    functionId: name,
    directory: '/app',
    scriptFile: 'dist/functions.js',
    entryPoint: '',
    language: '',
    isProxy: false,
    managedDependencyEnabled: false,
    properties: {},
    rawBindings: bindings.map((binding) => (typeof binding === 'string' ? binding : JSON.stringify(binding))),
    bindings: Object.fromEntries(
      objects.map((binding) => [
        String(binding.name),
        {
          type: String(binding.type),
          direction: 'direction' in binding && binding.direction === 'out' ? 1 : 0,
          dataType: 0,
          properties: {},
        },
      ]),
    ),
  };
}
