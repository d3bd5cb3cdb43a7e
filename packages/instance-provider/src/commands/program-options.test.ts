import { describe, expect, it } from 'vitest';
import { programOptionsOf } from './program-options.js';

describe('the options for the program of workers', () => {
  it.each([
    [
      { languageWorkers__node__arguments: '--inspect=9229 --max-old-space-size=256' },
      ['--inspect=9229', '--max-old-space-size=256'],
    ],
    [{ 'languageworkers:NODE:arguments': '--title "a b"' }, ['--title', 'a b']],
    [{ languageWorkers__node__arguments: '--inspect', FUNCTIONS_WORKER_RUNTIME: 'python' }, []],
    [{ languageWorkers__python__arguments: '-X dev', FUNCTIONS_WORKER_RUNTIME: 'python' }, ['-X', 'dev']],
    [{ languageWorkers__node__arguments: '--title "a' }, ['--title', '"a']],
    [{}, []],
  ])('of %j are %j', (environment, expected) => {
    expect(programOptionsOf(environment)).toEqual(expected);
  });
});
