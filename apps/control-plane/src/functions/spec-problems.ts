import type { ExecutionMode, FunctionSpec } from '@drover/contracts';
import { isTimeZone, parseCron } from './cron.js';

/** Lists problems that a JSON schema cannot express: combinations of fields. Never repeats values of `env` or whole URLs. */
export function problemsOf(spec: FunctionSpec, mode: ExecutionMode): string[] {
  return [
    ...modeProblems(spec, mode),
    ...urlProblems('endpointUrl', spec.endpointUrl),
    ...urlProblems('offload.targetUrl', spec.offload?.targetUrl),
    ...(spec.offload?.enabled && spec.offload.targetUrl === undefined
      ? ['offload.targetUrl is required when offload is enabled']
      : []),
    ...handlerProblems(spec.handler),
    ...scheduleProblems(spec.schedule),
    ...appFunctionProblems(spec.appFunction),
    ...resourceProblems(spec.resources),
    ...orderProblem('scalingConfig', spec.scalingConfig, 'minReplicas', 'maxReplicas'),
    ...concurrencyProblems('scalingConfig.concurrencyControl', spec.scalingConfig?.concurrencyControl),
    ...concurrencyProblems('concurrencyControl', spec.concurrencyControl),
    ...brokenTexts(spec, ''),
  ];
}

function modeProblems(spec: FunctionSpec, mode: ExecutionMode): string[] {
  if (mode === 'POOL' && spec.endpointUrl === undefined)
    return [`endpointUrl is required in mode ${spec.executionMode ?? mode}: calls are posted to it`];
  if (mode !== 'REMOTE' || spec.image || spec.command?.some((part) => part !== '')) return [];
  if (spec.executionMode !== undefined)
    return [`image or command is required in mode ${spec.executionMode}: each attempt runs it`];
  const meant = spec.handler !== undefined ? 'LOCAL' : spec.appFunction !== undefined ? 'APP' : undefined;
  return [
    meant
      ? `executionMode must be ${meant} for ${meant === 'LOCAL' ? 'a handler' : 'an appFunction'} to be called`
      : 'the function names nothing to run: set endpointUrl (mode POOL), image or command (mode REMOTE), or executionMode LOCAL or APP',
  ];
}

function urlProblems(field: string, url: string | undefined): string[] {
  if (url === undefined) return [];
  const parsed = /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) return [`${field} must be an http or https URL, such as http://host:8080/invoke`];
  if (parsed.username !== '' || parsed.password !== '')
    return [
      `${field} must not contain a user name or a password: it is shown to every caller that may read the function`,
    ];
  return [];
}

/** Refuses paths that leave the folder before they are stored; the dispatcher checks the resolved file again. */
function handlerProblems(handler: string | undefined): string[] {
  const segments = handler?.split('/') ?? [];
  return segments.some((segment) => segment === '' || segment === '.' || segment === '..')
    ? ['handler must be a path inside the folder of handlers, without ".", ".." or empty parts']
    : [];
}

function scheduleProblems(schedule: FunctionSpec['schedule']): string[] {
  if (!schedule) return [];
  const { cron, timeZone = 'UTC' } = schedule;
  const parsed = parseCron(cron);
  return [
    ...('problem' in parsed ? [`schedule.cron ${parsed.problem}`] : []),
    ...(isTimeZone(timeZone)
      ? []
      : [`schedule.timeZone ${timeZone.slice(0, 64)} is not a time zone, such as Europe/Berlin`]),
  ];
}

function appFunctionProblems(appFunction: string | undefined): string[] {
  if (appFunction === undefined) return [];
  const parts = appFunction.split('/');
  return parts.length > 2 || parts.some((part) => part === '' || part.trim() !== part)
    ? ['appFunction must be "application/function" or "function"']
    : [];
}

function resourceProblems(resources: FunctionSpec['resources']): string[] {
  const { requests, limits } = resources ?? {};
  return (['cpu', 'memoryMiB'] as const).flatMap((amount) => {
    const [wanted, most] = [requests?.[amount], limits?.[amount]];
    return wanted !== undefined && most !== undefined && wanted > most
      ? [`resources.requests.${amount} is ${wanted}, more than the limit ${most}`]
      : [];
  });
}

function concurrencyProblems(field: string, control: FunctionSpec['concurrencyControl']): string[] {
  return [
    ...orderProblem(field, control, 'minTargetInFlightPerPod', 'maxTargetInFlightPerPod'),
    ...orderProblem(field, control, 'lowLoadThreshold', 'highLoadThreshold'),
  ];
}

function orderProblem<Low extends string, High extends string>(
  field: string,
  holder: { readonly [Name in Low | High]?: number } | undefined,
  low: Low,
  high: High,
): string[] {
  const [least, most] = [holder?.[low], holder?.[high]];
  return least !== undefined && most !== undefined && least > most
    ? [`${field}.${low} is ${least}, more than ${high}, which is ${most}`]
    : [];
}

/** A lone surrogate is valid JSON but not valid text: PostgreSQL cannot store it and a process cannot receive it. */
function brokenTexts(value: unknown, path: string): string[] {
  if (typeof value === 'string')
    return /\p{Surrogate}/u.test(value) ? [`${path} contains a lone surrogate, which is not valid Unicode text`] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => brokenTexts(inner, path ? `${path}.${key}` : key));
}
