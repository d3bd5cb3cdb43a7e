import { describe, expect, it } from 'vitest';
import { withoutWorkerFrames } from './user-stack.js';

const root = '/opt/drover/node-worker/';
const own = [
  '    at FastInvocationModel.invokeFunction (/opt/drover/node-worker/dist/bundle/node-worker.js:1:2)',
  '    at async runInvocation (file:///opt/drover/node-worker/src/execution/run-invocation.ts:3:4)',
];
const ofNode = '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)';
const ofApp = ['    at order (/app/index.js:3:9)', '    at JSON.parse (<anonymous>)', '    at /app/index.js:8:1'];

describe('withoutWorkerFrames', () => {
  it('keeps the frames of the app, wherever frames of the worker are', () => {
    const stack = ['Error: no', ...ofApp, ...own, ofNode].join('\n');
    expect(withoutWorkerFrames(stack, root)).toBe(['Error: no', ...ofApp].join('\n'));
    const hooked = ['Error: no', ofApp[0], own[0], ofNode, ofApp[2], own[1], ofNode].join('\n');
    expect(withoutWorkerFrames(hooked, root)).toBe(['Error: no', ofApp[0], ofNode, ofApp[2]].join('\n'));
  });

  it('keeps a stack as it is that has no frames of the worker, or no others', () => {
    const stacks = [
      ['Error: no', ofApp[0], ofNode],
      ['Error: no', ...own, ofNode],
      ['Error: /opt/drover/node-worker/'],
    ];
    for (const stack of stacks) expect(withoutWorkerFrames(stack.join('\n'), root)).toBe(stack.join('\n'));
  });
});
