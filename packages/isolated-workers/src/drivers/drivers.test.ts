import { expect, it } from 'vitest';
import * as root from '../index.js';
import { childProcess } from './child-process.js';
import * as drivers from './index.js';
import { workerThreads } from './worker-threads.js';

it('the entry points of the drivers give out the same drivers as the root', () => {
  expect({ ...drivers }).toEqual({ childProcess: root.childProcess, workerThreads: root.workerThreads });
  expect(childProcess).toBe(root.childProcess);
  expect(workerThreads).toBe(root.workerThreads);
});
