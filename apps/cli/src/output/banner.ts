import path from 'node:path';
import type { RuntimeKeys } from '@drover/contracts';
import { applicationName, type ServedFunction } from '../up/served-functions.js';
import type { UpReport } from '../up/start-steps.js';

/** Functions per application; `drover keys functions` lists all. */
const mostFunctions = 50;

/** What `drover up` prints once everything serves. Programs may look for the first line. */
export function renderBanner(report: UpReport, keys: RuntimeKeys | undefined): string {
  const { public: url = '' } = report.urls;
  const directory = path.dirname(report.credentialsFile);
  const dataDir = directory === path.resolve('.drover') ? '' : ` --data-dir ${directory}`;
  const apps = report.applications.map((name) => renderApplication(name, report, keys)).join('');
  return `
Drover is up: ${url}

${apps}  API          ${url}/openapi.json
  API key      ${report.credentialsFile}
${report.emulatorsPage === undefined ? '' : `  emulators    ${report.emulatorsPage}\n`}  data, logs   ${directory}

Try in another terminal:

  curl ${url}/readyz
  npx drover keys list${dataDir}
  npx drover keys create my-first-key${dataDir}
${apps === '' ? '' : `  npx drover keys functions${dataDir}\n`}
Press Ctrl-C to stop.
`;
}

function renderApplication(name: string, report: UpReport, keys: RuntimeKeys | undefined): string {
  const functions = report.functions.filter(({ application }) => application === name);
  const heading = `  app          ${name}`;
  const broken = report.problems.find(({ application }) => application === name);
  if (broken) return `${heading} is not served: ${broken.problem.replaceAll('\n', '\n    ')}\n\n`;
  if (functions.length === 0) return `${heading}: has no function to run; the log has the reason\n\n`;
  const lines = renderFunctions(functions.slice(0, mostFunctions));
  const more = functions.length - mostFunctions;
  const rest = more > 0 ? [`    … and ${more} more`] : [];
  return `${[heading, ...lines, ...rest, ...renderKey(name, functions, keys)].join('\n')}\n\n`;
}

/** Renders one line for each function: name, methods and URL, in columns. */
export function renderFunctions(functions: readonly ServedFunction[]): readonly string[] {
  const rows = functions.map(({ name, methods, url, note, authLevel }) => {
    const how = methods.length === 0 ? 'any method' : methods.join(',');
    const key = authLevel === undefined || authLevel === 'anonymous' ? '' : '  (key)';
    return url === undefined ? ([name, note ?? '', ''] as const) : ([name, how, `${url}${key}`] as const);
  });
  const nameWidth = Math.max(0, ...rows.map(([name]) => name.length));
  const howWidth = Math.max(0, ...rows.map(([, how, url]) => (url === '' ? 0 : how.length)));
  return rows.map(([name, how, url]) => `    ${name.padEnd(nameWidth)}  ${how.padEnd(howWidth)}  ${url}`.trimEnd());
}

/** The key for all functions of an application, if one of them needs it. */
function renderKey(name: string, functions: readonly ServedFunction[], keys: RuntimeKeys | undefined): string[] {
  const application = keys?.applications.find((one) => applicationName(one.name) === name);
  const needsKey = functions.some(({ url, authLevel }) => url !== undefined && authLevel !== 'anonymous');
  const [key] = application?.hostKeys ?? [];
  if (!application || !needsKey || !key) return [];
  return [
    application.requiresKeys
      ? `    (key): send "x-functions-key: ${key.value}", or add ?code=${key.value}`
      : '    Function keys are off: every function can be called without one.',
  ];
}
