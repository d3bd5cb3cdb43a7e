import { describe, expect, it } from 'vitest';
import { parseWorkerConfig } from './config.js';

const newer = [
  '--functions-uri',
  'http://127.0.0.1:5000/',
  '--functions-worker-id=w',
  '--functions-request-id',
  'r',
  '--functions-grpc-max-message-length',
  '2147483647',
];
const older = [
  '--host',
  '127.0.0.1',
  '--port',
  '6000',
  '--workerId',
  'old',
  '--requestId',
  'old',
  '--grpcMaxMessageLength',
  '100',
];

function problemsOf(args: readonly string[], environment: Record<string, string> = {}): readonly string[] {
  try {
    parseWorkerConfig(args, environment);
    return [];
  } catch (error) {
    return error instanceof Error && 'problems' in error ? (error.problems as readonly string[]) : [String(error)];
  }
}

describe('parseWorkerConfig', () => {
  it('reads the four options, and defaults for the rest', () => {
    const { hostUrl, ...rest } = parseWorkerConfig(newer, {});
    expect(hostUrl.href).toBe('http://127.0.0.1:5000/');
    expect(rest).toEqual({
      workerId: 'w',
      requestId: 'r',
      maxMessageBytes: 2_147_483_647,
      tls: undefined,
      reconnectMs: 30_000,
      healthPort: 0,
      tracesStart: false,
      usesPlainLibrary: false,
    });
  });

  it('prefers the new spellings and understands the old ones', () => {
    expect(parseWorkerConfig([...older, ...newer], {}).workerId).toBe('w');
    const config = parseWorkerConfig(older, {});
    expect([config.hostUrl.href, config.workerId, config.maxMessageBytes]).toEqual([
      'http://127.0.0.1:6000/',
      'old',
      100,
    ]);
  });

  it('ignores what it does not know', () => {
    expect(problemsOf([...newer, '--inspect', 'positional', '--unknown', 'x'])).toEqual([]);
  });

  it('lists every problem at once', () => {
    const environment = { DROVER_WORKER_RECONNECT_MS: '-1', DROVER_WORKER_HEALTH_PORT: '70000' };
    expect(
      problemsOf(['--functions-uri', 'nonsense', '--functions-grpc-max-message-length', 'many'], environment),
    ).toEqual([
      '--functions-uri is "nonsense" (expected an http or https URL)',
      '--functions-worker-id is missing',
      '--functions-request-id is missing',
      '--functions-grpc-max-message-length is "many" (expected a whole number from 1 to 4294967296)',
      'DROVER_WORKER_RECONNECT_MS is "-1" (expected a whole number from 0 to 86400000)',
      'DROVER_WORKER_HEALTH_PORT is "70000" (expected a whole number from 0 to 65535)',
    ]);
  });

  it('wants certificates for an https address only', () => {
    const secure = newer.map((one) => one.replace('http:', 'https:'));
    expect(problemsOf(secure, { DROVER_WORKER_KEY: 'k' })).toEqual([
      'DROVER_WORKER_CERT is missing (an https URL requires it)',
      'DROVER_WORKER_CA is missing (an https URL requires it)',
    ]);
    const environment = { DROVER_WORKER_KEY: 'k', DROVER_WORKER_CERT: 'c', DROVER_WORKER_CA: 'a' };
    expect(parseWorkerConfig(secure, environment).tls).toEqual({ key: 'k', cert: 'c', ca: 'a' });
    expect(parseWorkerConfig(newer, environment).tls).toBeUndefined();
  });

  it('treats an option without a value as missing', () => {
    expect(problemsOf(['--functions-worker-id', ...newer.filter((one) => one !== '--functions-worker-id=w')])).toEqual([
      '--functions-worker-id is missing',
    ]);
  });
});
