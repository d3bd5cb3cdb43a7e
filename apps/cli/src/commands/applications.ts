import { applicationRoutes, type ApplicationView, type Client, type TrafficShares } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { renderApplication, renderApplications, trafficText } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';

type Applications = Client<typeof applicationRoutes>;

export async function listApplications(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const { applications } = await (await connect(applicationRoutes, flags, host)).listApplications();
  if (flags.json) return printJson(host, applications);
  printLines(host, renderApplications(applications));
  if (applications.length === 0)
    host.stderr.write('No application is deployed. Deploy one with "drover deploy <folder>".\n');
}

export async function showApplication(app: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(applicationRoutes, flags, host);
  const { application, changes } = await client.getApplication({ params: { app } });
  if (flags.json) return printJson(host, { application, changes });
  printLines(host, renderApplication(application, changes));
}

export async function removeApplication(app: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(applicationRoutes, flags, host);
  const application = await client.deleteApplication({ params: { app } });
  if (flags.json) return printJson(host, application);
  host.stdout.write(`The application ${app} accepts no more calls and is removed when it has finished what runs.\n`);
}

/** Shows the traffic, or splits it: `shares` are versions with percentages, or one version for all traffic. */
export async function setTraffic(
  app: string,
  shares: readonly string[],
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(applicationRoutes, flags, host);
  const { application } = await client.getApplication({ params: { app } });
  const changed = shares.length === 0 ? application : await splitTraffic(client, application, shares);
  if (flags.json) return printJson(host, changed);
  host.stdout.write(`${app}: ${trafficText(changed.traffic)}\n`);
}

async function splitTraffic(
  client: Applications,
  application: ApplicationView,
  shares: readonly string[],
): Promise<ApplicationView> {
  const params = { app: application.name };
  const [only = ''] = shares;
  if (shares.length === 1 && !only.includes('='))
    return client.promoteVersion({ params: { ...params, version: findVersion(application, only) } });
  return client.setTraffic({ params, body: { traffic: parseShares(application, shares) } });
}

function parseShares(application: ApplicationView, shares: readonly string[]): TrafficShares {
  const traffic: TrafficShares = {};
  for (const share of shares) {
    const [, given = '', percent = ''] = /^([^=]+)=(\d{1,3})%?$/.exec(share) ?? [];
    if (percent === '' || Number(percent) > 100)
      throw new Error(`The share "${share}" is invalid. Give a version and a whole percentage, such as c0ffee=90.`);
    const version = findVersion(application, given);
    if (traffic[version] !== undefined)
      throw new Error(`The version ${version} has two shares. Give one share for each version.`);
    traffic[version] = Number(percent);
  }
  return traffic;
}

export async function rollBack(
  app: string,
  given: string | undefined,
  { reason, ...flags }: ClientFlags & { readonly reason?: string },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(applicationRoutes, flags, host);
  const params = { app };
  const version =
    given === undefined ? undefined : findVersion((await client.getApplication({ params })).application, given);
  const body = { ...(version !== undefined && { version }), ...(reason !== undefined && { reason }) };
  const application = await client.rollBackApplication({ params, body });
  if (flags.json) return printJson(host, application);
  host.stdout.write(`The application ${app} is rolled back: ${trafficText(application.traffic)}\n`);
}

/** Finds a version by its beginning. Throws an Error that lists the versions if none or several begin so. */
function findVersion({ name, versions }: ApplicationView, given: string): string {
  const found = versions.filter(({ version }) => version.startsWith(given));
  const [version] = found;
  if (found.length === 1 && version) return version.version;
  const known = versions.map((one) => one.version).join(', ') || 'none';
  throw new Error(
    found.length === 0
      ? `The application ${name} has no version "${given}". Its versions are: ${known}.`
      : `Several versions of ${name} begin with "${given}": ${found.map((one) => one.version).join(', ')}. Give more characters.`,
  );
}

function printLines(host: NodeJS.Process, lines: readonly string[]): void {
  for (const line of lines) host.stdout.write(`${line}\n`);
}
