import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { runProgram } from '../program.js';

export interface PlatformAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** Runs a command line against a platform that gives `answerTo` each request, as `GET /path`. Returns what was asked and printed. */
export async function runAnswered(argv: readonly string[], answerTo: (request: string) => PlatformAnswer) {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  const printed = { stdout: '', stderr: '' };
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    asked.push(line);
    void buffer(request).then((sent) => {
      if (sent.length > 0) bodies.push(JSON.parse(sent.toString()));
      const { status, body } = answerTo(line);
      response.writeHead(status).end(body === undefined ? '' : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens
  const env = { DROVER_URL: `http://127.0.0.1:${port}`, DROVER_API_KEY: 'drv_a_b' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const host = { env, stdin: {}, stdout: stream('stdout'), stderr: stream('stderr'), exitCode: 0 };
  try {
    await runProgram(argv, host as unknown as NodeJS.Process); // all that the commands use
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { ...printed, exitCode: host.exitCode, asked, bodies };
}
