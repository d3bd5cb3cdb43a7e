import { serveRequests } from '../../harness/program.js';
import { closedLoop, type ClosedLoad, type ClosedLoadResult } from '../load/closed-loop.js';
import { openLoop, type OpenLoad, type OpenLoadResult } from '../load/open-loop.js';

export type GeneratorRequest =
  | { readonly kind: 'closed'; readonly load: ClosedLoad }
  | { readonly kind: 'open'; readonly load: OpenLoad };
export type GeneratorAnswer = ClosedLoadResult | OpenLoadResult;

/** Whoever calls, in a process of its own. */
serveRequests<GeneratorRequest>(
  (request): Promise<GeneratorAnswer> =>
    request.kind === 'closed' ? closedLoop(request.load) : openLoop(request.load),
);
