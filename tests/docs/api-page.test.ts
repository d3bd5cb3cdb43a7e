import { describe, expect, it } from 'vitest';
import { apiPage, declarationsIn } from './api-page.js';

describe('declarationsIn', () => {
  const text = `import type { Other } from './other.js';
/** Names a thing; its comment has a brace: { */
export type Name = {
    readonly kind: '{';
} | {
    /** Has no end. }
     * On two lines. */
    readonly other: Other;
};
/**
 * Makes a thing.
 * - fast
 */
export declare function make<T>(from: { readonly a: T }): Promise<T>;
interface Hidden {
    readonly a: string;
}
/** Holds something. */
export declare class Holder extends Error {
    #private;
    readonly held: number;
    constructor(held: number);
}
`;

  it('returns what is exported, with its comment as text and its code without what is private', () => {
    expect(declarationsIn(text)).toEqual([
      {
        name: 'Name',
        kind: 'type',
        doc: 'Names a thing; its comment has a brace: {',
        code: "type Name = {\n  readonly kind: '{';\n} | {\n  /** Has no end. }\n   * On two lines. */\n  readonly other: Other;\n};",
      },
      {
        name: 'make',
        kind: 'function',
        doc: 'Makes a thing.\n- fast',
        code: 'function make<T>(from: { readonly a: T }): Promise<T>;',
      },
      {
        name: 'Holder',
        kind: 'class',
        doc: 'Holds something.',
        code: 'class Holder extends Error {\n  readonly held: number;\n  constructor(held: number);\n}',
      },
    ]);
  });
});

it('the reference of a package has every export of every entry point, each described once', () => {
  const page = apiPage('packages/isolated-workers').join('\n\n');
  for (const name of ['createWorker', 'PoolOptions', 'WorkerCrashedError', 'workerThreads', 'faultyDriver'])
    expect(page.split(`#### ${name}\n`)).toHaveLength(2);
  expect(page).toContain('## `@drover/isolated-workers/drivers/child-process`\n\nExports, as above: `childProcess`.');
  expect(page).toContain('readonly totalTimeout?: number;');
});
