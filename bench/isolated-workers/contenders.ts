import type { Echo, EchoKind } from './echo.js';
import { ending, ours } from './ours.js';
import { jestWorker, piscina, tinypool, workerpoolOf } from './peers.js';
import { rawIpc, rawPort, rawSocket } from './raw.js';

/** A contender of the suite that can be started again and again. */
export interface EchoFactory {
  readonly name: string;
  readonly kind: EchoKind;
  /** Whether it is the bare way with which the others of its place are compared. */
  readonly isFloor: boolean;
  readonly open: () => Promise<Echo>;
}

/** All contenders with one worker each, ours and the floors first. */
export function echoFactories(): EchoFactory[] {
  const factory = (name: string, kind: EchoKind, open: () => Echo | Promise<Echo>, isFloor = false): EchoFactory => ({
    name,
    kind,
    isFloor,
    open: async () => open(),
  });
  return [
    factory('ours, workerThreads', 'our thread', () => ours('thread', ending)),
    factory('bare thread', 'raw thread', () => rawPort(), true),
    factory('piscina', 'peer thread', () => piscina()),
    factory('tinypool, worker_threads', 'peer thread', () => tinypool('worker_threads')),
    factory('workerpool, thread', 'peer thread', () => workerpoolOf('thread')),
    factory('jest-worker, thread', 'peer thread', () => jestWorker('thread')),
    factory('ours, childProcess', 'our process', () => ours('process', ending)),
    factory('bare fork', 'raw process', () => rawIpc('json'), true),
    factory('bare socket pair', 'raw process', () => rawSocket()),
    factory('tinypool, child_process', 'peer process', () => tinypool('child_process')),
    factory('workerpool, process', 'peer process', () => workerpoolOf('process')),
    factory('jest-worker, process', 'peer process', () => jestWorker('process')),
  ];
}
