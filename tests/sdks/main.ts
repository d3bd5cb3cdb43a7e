import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { renderCompatibility, withCompatibility } from './compatibility-table.js';
import { runSuite, type SuiteResult } from './run-suite.js';
import { sdkSuites } from './suites.js';

/**
 * Runs the SDKs of other languages, and older ones of JavaScript, against `drover emulators`: `npm run test:sdks [name …]`. SDKs are
 * fetched into a cache outside of the repository; one that cannot be had is skipped with a line. When all suites ran, the results and
 * the table in the README of the emulators are written.
 */
const root = fileURLToPath(new URL('../../../', import.meta.url));
const places = {
  sources: path.join(root, 'tests/sdks'),
  cache: path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'drover-sdks'),
};
const wanted = process.argv.slice(2).map((name) => name.toLowerCase());
const chosen = sdkSuites.filter(
  ({ language, sdk }) =>
    wanted.length === 0 || wanted.some((name) => `${language} ${sdk}`.toLowerCase().includes(name)),
);

const tlsConnection = 'Endpoint=sb://localhost;SharedAccessKeyName=any;SharedAccessKey=any';

const filtered = ['go', 'java', 'python'].map((language) => ({
  name: `sdk-${language}-topic`,
  subscriptions: [{ name: 'flagged', rules: [{ name: 'yes', sqlExpression: 'flag = TRUE' }] }],
}));

const results: SuiteResult[] = [];
const scratch = await mkdtemp(path.join(tmpdir(), 'drover-sdks-'));
const entities = path.join(scratch, 'entities.json');
await writeFile(entities, JSON.stringify({ topics: filtered }));
const ports = ['--amqp-port', '--blob-port', '--queue-port', '--table-port', '--page-port'].flatMap((flag) => [
  flag,
  '0',
]);
/** For SDKs whose port cannot be chosen. */
const isTlsPortFree = await canListen(5671);
const tlsPort = isTlsPortFree ? ['--more-amqp-ports', '5671'] : [];
const drover = path.join(root, 'apps/cli/bin/drover.js');
const emulators = spawn(
  process.execPath,
  [drover, 'emulators', '--json', ...ports, ...tlsPort, '--entities', entities],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
try {
  const [line] = (await once(createInterface(emulators.stdout), 'line')) as [string];
  const ready = JSON.parse(line) as { connectionStrings: { serviceBus: string }; certificate: string }; // of this version
  const certificate = path.join(scratch, 'certificate.pem');
  await writeFile(certificate, ready.certificate);
  const plain = { ...process.env, SDK_CONNECTION_STRING: ready.connectionStrings.serviceBus };
  const secure = { ...plain, SDK_CONNECTION_STRING: tlsConnection, NODE_EXTRA_CA_CERTS: certificate };
  for (const suite of chosen) {
    const { language, sdk, service } = suite;
    const result =
      suite.tlsPort && !isTlsPortFree
        ? { language, sdk, service, passed: [], failed: [], skipped: 'port 5671 is in use' }
        : await runSuite(suite, places, suite.tlsPort ? secure : plain);
    results.push(result);
    print(result);
  }
} finally {
  emulators.kill('SIGTERM');
  await once(emulators, 'exit');
  await rm(scratch, { recursive: true, force: true });
}
const isComplete = results.length === sdkSuites.length && results.every(({ skipped }) => skipped === undefined);
if (isComplete) await writeTable();
else say('The table in the README is written when every suite has run.');
if (results.some(({ failed }) => failed.length > 0)) process.exitCode = 1;

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function print({ language, sdk, passed, failed, skipped }: SuiteResult): void {
  if (skipped !== undefined) {
    say(`skipped ${language} ${sdk}: ${skipped}`);
    return;
  }
  say(`${language} ${sdk}: ${passed.length} of ${passed.length + failed.length} checks passed`);
  for (const name of passed) say(`  ok ${name}`);
  for (const line of failed) say(`  FAILED ${line}`);
}

async function writeTable(): Promise<void> {
  await writeFile(path.join(places.sources, 'generated/results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  const readme = path.join(root, 'packages/azure-emulators/README.md');
  await writeFile(readme, withCompatibility(await readFile(readme, 'utf8'), renderCompatibility(results)));
}
