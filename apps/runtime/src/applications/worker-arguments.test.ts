import { describe, expect, it } from 'vitest';
import { isDebugged, withFreeDebugPort, workerArguments } from './worker-arguments.js';

describe('the arguments of workers', () => {
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
    expect(workerArguments(environment)).toEqual(expected);
  });

  it.each(['--inspect', '--inspect=9229', '--inspect-brk=0.0.0.0:9229', '--inspect-wait'])(
    'with %s start a debugger, which the next process has on a port of its own',
    (flag) => {
      expect(isDebugged(['--x', flag])).toBe(true);
      expect(withFreeDebugPort({ args: [flag, 'worker.js'] })).toEqual({ args: ['--inspect=0', 'worker.js'] });
    },
  );

  it('without such a flag start none', () => {
    expect(isDebugged(['--inspect-port=1', 'worker.js', '--inspection'])).toBe(false);
  });
});
