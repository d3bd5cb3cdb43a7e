import type { ApplicationChangeView, ApplicationVersionView, ApplicationView, TrafficShares } from '@drover/contracts';

/** One line for each application, in columns. */
export function renderApplications(applications: readonly ApplicationView[]): readonly string[] {
  return columns(
    applications.map(({ name, state, versions, traffic }) => [
      name,
      trafficText(traffic),
      counted(versions.length, 'version'),
      counted(servedFunctions(versions, traffic), 'function'),
      state === 'active' ? '' : state,
    ]),
  );
}

/** The versions of an application, newest first, and the last changes of its traffic. */
export function renderApplication(
  { name, state, versions, scaling }: ApplicationView,
  changes: readonly ApplicationChangeView[],
): readonly string[] {
  const bounds = Object.entries(scaling).map(([setting, value]) => `${setting} ${value}`);
  return [
    state === 'active' ? name : `${name} (${state})`,
    ...(bounds.length > 0 ? [`  scaling: ${bounds.join(', ')}`] : []),
    ...indented(columns(versions.toReversed().map(versionCells))),
    ...versions.flatMap(({ version, problems }) =>
      problems.map(({ functionName, problem }) => `  ${version} ${functionName}: ${problem}`),
    ),
    ...(changes.length > 0 ? ['  last changes:'] : []),
    ...indented(
      indented(columns(changes.map(({ at, kind, traffic, reason }) => [at, kind, trafficText(traffic), reason]))),
    ),
  ];
}

function versionCells(version: ApplicationVersionView): readonly string[] {
  const { trafficPercent, deployedAt, functions, source, isRolledBack } = version;
  const where = source.kind === 'folder' ? source.directory : `payload ${source.digest.slice(0, 12)}`;
  return [
    version.version,
    `${trafficPercent} %`.padStart(5),
    deployedAt,
    counted(functions.length, 'function'),
    where,
    isRolledBack ? 'rolled back' : '',
  ];
}

/** `c0123456789abcdef 90 %, cfedcba9876543210 10 %`; versions without traffic are left out. */
export function trafficText(traffic: TrafficShares): string {
  const shares = Object.entries(traffic).filter(([, percent]) => percent > 0);
  const sorted = shares.toSorted(([, a], [, b]) => b - a);
  return sorted.length === 0 ? 'no traffic' : sorted.map(([version, percent]) => `${version} ${percent} %`).join(', ');
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Functions of the version with the largest share. */
function servedFunctions(versions: readonly ApplicationVersionView[], traffic: TrafficShares): number {
  const [served] = versions.toSorted((a, b) => (traffic[b.version] ?? 0) - (traffic[a.version] ?? 0));
  return served?.functions.length ?? 0;
}

/** Pads the cells of each column to the widest one. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}
