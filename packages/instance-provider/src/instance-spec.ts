import type { InstanceSpec } from './instance-provider.js';

/** Names of pods are DNS labels. */
const idPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const labelPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const variablePattern = /^[^=\0]+$/;
const maxLabels = 32;

/** Returns why a spec is not valid; undefined if it is. Each adapter refuses the same ones, so that none accepts what another cannot start. */
export function problemOfSpec({
  instanceId,
  labels,
  environment,
  args,
  programOptions = [],
}: InstanceSpec): string | undefined {
  if (!idPattern.test(instanceId))
    return 'its id must have 1 to 63 of a-z, 0-9 and "-", and begin and end with a letter or digit.';
  if (Object.keys(labels).length > maxLabels) return `it has more than ${maxLabels} labels.`;
  for (const [name, value] of Object.entries(labels)) {
    if (!labelPattern.test(name)) return `the label name ${JSON.stringify(name)} is not one of Kubernetes.`;
    if (value !== '' && !labelPattern.test(value))
      return `the label ${name} has the value ${JSON.stringify(value)}, which is not one of Kubernetes.`;
  }
  for (const [name, value] of Object.entries(environment))
    if (!variablePattern.test(name) || value.includes('\0'))
      return `the environment variable ${JSON.stringify(name)} has a character that none can have.`;
  if ([...args, ...programOptions].some((arg) => arg.includes('\0'))) return 'an argument has a zero character.';
  return undefined;
}
