import { describe, expect, it } from 'vitest';
import { problemOf, type AppFacts } from './app-problem.js';
import type { AppStart } from './start-app.js';

const start = (more: Partial<AppStart> = {}): AppStart => ({
  directory: '/app',
  packageJson: { kind: 'read', main: 'index.js' },
  files: ['index.js'],
  failures: [],
  ...more,
});
const none: AppFacts = { registeredFunctions: 0, hasFunctionJson: false };

describe('problemOf', () => {
  it('finds none in an app with functions of either kind', () => {
    expect(problemOf(start(), { ...none, registeredFunctions: 1 })).toBeUndefined();
    expect(
      problemOf(start({ packageJson: { kind: 'missing' }, files: [] }), { ...none, hasFunctionJson: true }),
    ).toBeUndefined();
  });

  it('names every file that failed, and blocks only what is not there', () => {
    const failures = [
      { file: 'a.js', error: new Error('first') },
      { file: 'b.js', error: 'second' },
    ];
    const problem = problemOf(start({ failures }), { ...none, registeredFunctions: 2 });
    expect(problem).toMatchObject({ blocksAll: false, stack: expect.stringContaining('first') as string });
    expect(problem?.message).toBe(
      'Worker was unable to load entry point "a.js" of the app in /app: first\nEntry point "b.js" could not be loaded either: second',
    );
    expect(problemOf(start({ failures }), none)?.blocksAll).toBe(true);
  });

  it('lets a hook that failed block everything', () => {
    const problem = problemOf(start({ hookFailure: { error: new Error('hook') } }), {
      ...none,
      registeredFunctions: 2,
    });
    expect(problem).toMatchObject({ blocksAll: true, message: 'An appStart hook of the app in /app failed: hook' });
  });

  it('shortens a long list of files without functions', () => {
    const files = Array.from({ length: 7 }, (_, at) => `f${at}.js`);
    expect(problemOf(start({ files }), none)?.message).toContain(
      'names f0.js, f1.js, f2.js, f3.js, f4.js and 2 more, which',
    );
  });
});
