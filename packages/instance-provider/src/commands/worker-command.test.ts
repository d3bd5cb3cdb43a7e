import { describe, expect, it } from 'vitest';
import { hasFixedDebugPort, isDebugged, withFreeDebugPort, withLaterDebugPort } from './debug-port.js';
import { hostArguments, parseWorkerCommand, withFilesFrom } from './worker-command.js';

describe('the worker command', () => {
  it.each([
    ['node worker.js', 'node', ['worker.js']],
    ['"/opt/my node/bin/node" --flag \'a b\' c\\ d ""', '/opt/my node/bin/node', ['--flag', 'a b', 'c d', '']],
    ['  python   -m worker ', 'python', ['-m', 'worker']],
  ])('%s is split as a shell would', (text, executable, args) => {
    expect(parseWorkerCommand(text)).toEqual({ executable, args });
  });

  it.each(['', '   ', 'node "worker.js'])('%j is refused with a sentence', (text) => {
    expect(() => parseWorkerCommand(text)).toThrow(/worker command/);
  });

  it('names files from where it was given, and leaves everything else as it is', () => {
    const files = new Set(['/here/bin/node', '/here/node', '/here/dist/worker.js']);
    const from = (text: string) => withFilesFrom('/here', parseWorkerCommand(text), (file) => files.has(file));
    expect(from('node dist/worker.js --flag other.js ""')).toEqual({
      executable: 'node',
      args: ['/here/dist/worker.js', '--flag', 'other.js', ''],
    });
    expect(from('./bin/node /opt/worker.js')).toEqual({ executable: '/here/bin/node', args: ['/opt/worker.js'] });
  });

  it('tells the worker everything in both spellings', () => {
    const args = hostArguments({ host: '127.0.0.1', port: 9, workerId: 'w', requestId: 'r', maxMessageBytes: 7 });
    expect(args.join(' ')).toBe(
      '--host 127.0.0.1 --port 9 --workerId w --requestId r --grpcMaxMessageLength 7 --functions-uri http://127.0.0.1:9/ --functions-worker-id w --functions-request-id r --functions-grpc-max-message-length 7',
    );
  });
});

describe('the arguments of a program', () => {
  it.each(['--inspect', '--inspect=9229', '--inspect-brk=0.0.0.0:9229', '--inspect-wait'])(
    'with %s start a debugger, which the next process has on a port of its own',
    (flag) => {
      expect(isDebugged(['--x', flag])).toBe(true);
      expect(withFreeDebugPort({ args: [flag, 'worker.js'] })).toEqual({ args: ['--inspect=0', 'worker.js'] });
    },
  );

  it.each([
    ['--inspect', '--inspect-port=9229'],
    ['--inspect-brk=0.0.0.0:9230', '--inspect-port=0.0.0.0:9230'],
  ])('with %s may start it later on the same port', (flag, expected) => {
    expect(hasFixedDebugPort([flag])).toBe(true);
    expect(withLaterDebugPort({ args: [flag, 'worker.js'] })).toEqual({ args: [expected, 'worker.js'] });
    expect(hasFixedDebugPort(['--inspect=0', 'worker.js'])).toBe(false);
    expect(hasFixedDebugPort(['--inspect-wait=127.0.0.1:0'])).toBe(false);
  });

  it('without such a flag start none', () => {
    expect(isDebugged(['--inspect-port=1', 'worker.js', '--inspection'])).toBe(false);
  });
});
