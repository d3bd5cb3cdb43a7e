import { serveRequests } from '../../harness/program.js';
import { runLoad, type Load, type LoadResult } from '../load.js';
import { ObservedRuntime } from './observed-runtime.js';

export type RuntimeRequest =
  | { readonly kind: 'start'; readonly variables: Readonly<Record<string, string>>; readonly workers: number }
  | { readonly kind: 'load'; readonly load: Load }
  | { readonly kind: 'stop' };

export type RuntimeAnswer = LoadResult | undefined;

const runtime = new ObservedRuntime();

serveRequests<RuntimeRequest>(async (request): Promise<RuntimeAnswer> => {
  switch (request.kind) {
    case 'start':
      await runtime.start(request.variables, request.workers);
      return undefined;
    case 'load':
      return await runLoad(runtime.caller(), request.load, runtime.workerPids);
    case 'stop':
      await runtime.stop();
      return undefined;
  }
});
