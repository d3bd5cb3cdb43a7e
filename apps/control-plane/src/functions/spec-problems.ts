import type { ExecutionMode, FunctionPatch, FunctionSpec } from '@drover/contracts';

/** What the schema cannot see: how fields go together. Values of `env` and whole URLs are never repeated. */
export function problemsOf(spec: FunctionSpec, mode: ExecutionMode): string[] {
  return [
    ...modeProblems(spec, mode),
    ...urlProblems('endpointUrl', spec.endpointUrl),
    ...urlProblems('offload.targetUrl', spec.offload?.targetUrl),
    ...(spec.offload?.enabled && spec.offload.targetUrl === undefined
      ? ['offload.targetUrl must be there when offload is enabled']
      : []),
    ...handlerProblems(spec.handler),
    ...appFunctionProblems(spec.appFunction),
    ...resourceProblems(spec.resources),
    ...orderProblem('scalingConfig', spec.scalingConfig, 'minReplicas', 'maxReplicas'),
    ...concurrencyProblems('scalingConfig.concurrencyControl', spec.scalingConfig?.concurrencyControl),
    ...concurrencyProblems('concurrencyControl', spec.concurrencyControl),
    ...brokenTexts(spec, ''),
  ];
}

/** The same for what may change later. */
export function patchProblemsOf(patch: FunctionPatch): string[] {
  return concurrencyProblems('concurrencyControl', patch.concurrencyControl);
}

function modeProblems(spec: FunctionSpec, mode: ExecutionMode): string[] {
  if (mode === 'POOL' && spec.endpointUrl === undefined)
    return [`endpointUrl must be there in the mode ${spec.executionMode ?? mode}: it is where calls are posted`];
  if (mode !== 'REMOTE' || spec.image || spec.command?.some((part) => part !== '')) return [];
  if (spec.executionMode !== undefined)
    return [`image or command must be there in the mode ${spec.executionMode}: it is what each attempt runs`];
  const meant = spec.handler !== undefined ? 'LOCAL' : spec.appFunction !== undefined ? 'APP' : undefined;
  return [
    meant
      ? `executionMode must be ${meant} for ${meant === 'LOCAL' ? 'a handler' : 'an appFunction'} to be called`
      : 'it says nothing to run: give endpointUrl (mode POOL), image or command (mode REMOTE), or the executionMode LOCAL or APP',
  ];
}

function urlProblems(field: string, url: string | undefined): string[] {
  if (url === undefined) return [];
  const parsed = /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) return [`${field} must be an http or https URL, such as http://host:8080/invoke`];
  if (parsed.username !== '' || parsed.password !== '')
    return [`${field} must not hold a user name or a password: it is shown to everybody who may read the function`];
  return [];
}

/** Whoever opens the file checks again where it really is; a path that means to leave the folder is not even kept. */
function handlerProblems(handler: string | undefined): string[] {
  const segments = handler?.split('/') ?? [];
  return segments.some((segment) => segment === '' || segment === '.' || segment === '..')
    ? ['handler must be a path inside the folder of handlers, without ".", ".." or empty parts']
    : [];
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

/** Half a surrogate pair is JSON, but no text: PostgreSQL has no place for it and a process cannot be given it. */
function brokenTexts(value: unknown, path: string): string[] {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value) ? [`${path} holds half a character`] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => brokenTexts(inner, path ? `${path}.${key}` : key));
}
