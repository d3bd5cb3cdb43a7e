import { checkConfiguration } from '../doctor/configuration-check.js';
import { checkEmbeddedDatabase, checkExternalDatabase } from '../doctor/database-checks.js';
import { formatFinding, type Finding } from '../doctor/finding.js';
import { checkDataDirectory, checkLocking, checkMemory, checkNode, checkPort } from '../doctor/machine-checks.js';
import type { UpFlags } from '../flags.js';
import { withFlags } from '../up/config.js';

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
  ];
}
