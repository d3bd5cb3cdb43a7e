import { controlRoutes, isCodedError } from '@drover/contracts';
import { checkConfiguration } from '../doctor/configuration-check.js';
import { checkEmbeddedDatabase, checkExternalDatabase } from '../doctor/database-checks.js';
import { formatFinding, type Finding } from '../doctor/finding.js';
import { checkDataDirectory, checkLocking, checkMemory, checkNode, checkPort } from '../doctor/machine-checks.js';
import { checkRoutes } from '../doctor/route-check.js';
import type { UpFlags } from '../flags.js';
import { withFlags } from '../up/config.js';
import { connect } from './connect.js';

/** Runs `drover doctor`; the exit code is 1 if `drover up` would fail. */
export async function runDoctor(flags: UpFlags, host: NodeJS.Process): Promise<void> {
  const findings = await examine(flags, host);
  const healthy = findings.every(({ verdict }) => verdict !== 'bad');
  if (flags.json) host.stdout.write(`${JSON.stringify({ healthy, findings })}\n`);
  else host.stdout.write(`${findings.map((finding) => formatFinding(finding)).join('\n')}\n`);
  host.exitCode = healthy ? 0 : 1;
}

async function examine(flags: UpFlags, host: NodeJS.Process): Promise<Finding[]> {
  const { config, findings } = checkConfiguration(withFlags(host.env, flags));
  const machine = [checkNode(), checkMemory(), checkLocking(), ...findings];
  if (!config) return machine;
  return [
    ...machine,
    await checkDataDirectory(config.dataDir),
    await checkPort(config.host, config.port),
    config.databaseUrl
      ? await checkExternalDatabase(config.databaseUrl)
      : await checkEmbeddedDatabase(config.postgresUser),
    ...(await examinePlatform(flags, host)),
  ];
}

/** Checks the platform that runs, if there is one. */
async function examinePlatform(flags: UpFlags, host: NodeJS.Process): Promise<Finding[]> {
  try {
    const { listRouteClashes } = await connect(controlRoutes, flags, host, { timeoutMs: 2_000 });
    return checkRoutes((await listRouteClashes()).clashes);
  } catch (error) {
    if (isCodedError(error)) return []; // none runs, or its key is not known here
    throw error;
  }
}
