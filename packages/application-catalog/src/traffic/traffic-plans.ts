import type { PayloadSource, Traffic } from '../application-catalog.js';
import {
  applicationNoRollback,
  applicationTrafficInvalid,
  applicationVersionInUse,
  applicationVersionUnknown,
} from '../errors.js';

/** What decides about traffic: a version without its functions and settings. */
export interface PlannedVersion {
  readonly codeVersion: string;
  readonly metadataVersion: string;
  readonly source: PayloadSource;
  readonly isRolledBack: boolean;
}

/** The state that a change is computed from. */
export interface PlannedApplication {
  readonly applicationId: string;
  /** Oldest deployment first. */
  readonly versions: readonly PlannedVersion[];
  readonly traffic: Traffic;
  /** Traffic of earlier changes, newest first. */
  readonly history: readonly Traffic[];
}

/** The outcome of a change. */
export interface TrafficPlan {
  readonly traffic: Traffic;
  /** Versions that are removed. */
  readonly removed: readonly string[];
  /** Versions that lose their traffic by a roll back. */
  readonly rolledBack: readonly string[];
  /** Versions that were rolled back and are in use again. */
  readonly restored: readonly string[];
}

/**
 * Decides about the traffic when a version is deployed. The others share the rest in their proportion. Old versions without traffic go
 * beyond `maxVersions`, and versions of the same folder go always: their files are not there any more.
 */
export function planDeployment(
  application: PlannedApplication,
  version: Omit<PlannedVersion, 'isRolledBack'>,
  { trafficPercent, maxVersions }: { readonly trafficPercent: number; readonly maxVersions: number },
): TrafficPlan {
  const { codeVersion, source } = version;
  const isReplaced = (other: PlannedVersion): boolean =>
    other.codeVersion !== codeVersion &&
    source.kind === 'folder' &&
    other.source.kind === 'folder' &&
    other.source.directory === source.directory;
  const others = application.versions.filter((other) => other.codeVersion !== codeVersion && !isReplaced(other));
  const rest = Object.fromEntries(
    others.flatMap((other) => {
      const percent = application.traffic[other.codeVersion] ?? 0;
      return percent > 0 ? [[other.codeVersion, percent]] : [];
    }),
  );
  const own = Object.keys(rest).length === 0 ? 100 : trafficPercent;
  const traffic = { ...scaleTo(rest, 100 - own), ...(own > 0 && { [codeVersion]: own }) };
  checkMetadata(application.applicationId, [...others, { ...version, isRolledBack: false }], traffic);
  const spare = others.filter((other) => traffic[other.codeVersion] === undefined);
  const surplus = spare.slice(0, Math.max(0, others.length + 1 - maxVersions));
  return {
    traffic,
    removed: [...application.versions.filter(isReplaced), ...surplus].map((other) => other.codeVersion),
    rolledBack: [],
    restored: [codeVersion],
  };
}

/** Checks shares that a caller chose. Throws APPLICATION_VERSION_UNKNOWN or APPLICATION_TRAFFIC_INVALID. */
export function planTraffic(application: PlannedApplication, wanted: Traffic): TrafficPlan {
  const { applicationId, versions } = application;
  for (const version of Object.keys(wanted)) requireVersion(application, version);
  const odd = Object.entries(wanted).find(([, percent]) => !Number.isInteger(percent) || percent < 0 || percent > 100);
  if (odd)
    throw applicationTrafficInvalid({
      applicationId,
      problem: `${odd[0]} has ${odd[1]} %. Use whole numbers from 0 to 100.`,
    });
  const sum = Object.values(wanted).reduce((total, percent) => total + percent, 0);
  if (sum !== 100)
    throw applicationTrafficInvalid({ applicationId, problem: `the shares add up to ${sum}, not 100. Correct them.` });
  const traffic = Object.fromEntries(Object.entries(wanted).filter(([, percent]) => percent > 0));
  checkMetadata(applicationId, versions, traffic);
  return { traffic, removed: [], rolledBack: [], restored: Object.keys(traffic) };
}

/** Returns to earlier traffic. What loses its traffic is marked, so that the next roll back goes further back. */
export function planRollback(application: PlannedApplication, toVersion: string | undefined): TrafficPlan {
  const { applicationId, traffic: current, versions } = application;
  if (toVersion !== undefined) requireVersion(application, toVersion);
  const target = toVersion === undefined ? earlierTraffic(application) : { [toVersion]: 100 };
  if (!target)
    throw applicationNoRollback({
      applicationId,
      problem: whyNoEarlier(application),
    });
  const rolledBack = Object.keys(current).filter((version) => target[version] === undefined);
  if (rolledBack.length === 0 && sameTraffic(current, target))
    throw applicationNoRollback({ applicationId, problem: `it has this traffic already.` });
  checkMetadata(applicationId, versions, target);
  return { traffic: target, removed: [], rolledBack, restored: Object.keys(target) };
}

/** Throws APPLICATION_VERSION_UNKNOWN, or APPLICATION_VERSION_IN_USE while the version has traffic. */
export function planVersionRemoval(application: PlannedApplication, version: string): TrafficPlan {
  const { applicationId, traffic } = application;
  requireVersion(application, version);
  const percent = traffic[version] ?? 0;
  if (percent > 0) throw applicationVersionInUse({ applicationId, version, percent });
  return { traffic, removed: [version], rolledBack: [], restored: [] };
}

function requireVersion({ applicationId, versions }: PlannedApplication, version: string): void {
  const known = versions.map(({ codeVersion }) => codeVersion);
  if (!known.includes(version)) throw applicationVersionUnknown({ applicationId, version, known });
}

/** The newest traffic of the past that is not the current one and in which no version was rolled back or removed since. */
function earlierTraffic({ traffic, history, versions }: PlannedApplication): Traffic | undefined {
  const usable = new Set(versions.filter(({ isRolledBack }) => !isRolledBack).map(({ codeVersion }) => codeVersion));
  return history.find(
    (earlier) => !sameTraffic(earlier, traffic) && Object.keys(earlier).every((version) => usable.has(version)),
  );
}

function whyNoEarlier({ versions }: PlannedApplication): string {
  const isFolder = versions.at(-1)?.source.kind === 'folder';
  return isFolder
    ? 'earlier versions of a folder are not kept. Restore the files of the folder, or deploy a payload.'
    : 'no earlier version is left. Deploy one, or name a version.';
}

/** Versions with different triggers have job hosts of their own, of which one receives events: they cannot share. */
function checkMetadata(applicationId: string, versions: readonly PlannedVersion[], traffic: Traffic): void {
  const sharing = versions.filter(({ codeVersion }) => traffic[codeVersion] !== undefined);
  const [first] = sharing;
  const other = sharing.find(({ metadataVersion }) => metadataVersion !== first?.metadataVersion);
  if (!first || !other) return;
  const problem = `the versions ${first.codeVersion} and ${other.codeVersion} have different triggers, bindings or host.json, so they cannot split traffic. Give one of them 100 %.`;
  throw applicationTrafficInvalid({ applicationId, problem });
}

/** Scales shares to another total, in whole percents: the largest remainders are rounded up. */
function scaleTo(shares: Traffic, total: number): Traffic {
  const sum = Object.values(shares).reduce((added, percent) => added + percent, 0);
  if (sum === 0 || total === 0) return {};
  const exact = Object.entries(shares).map(([version, percent]) => [version, (percent / sum) * total] as const);
  const floors = new Map(exact.map(([version, percent]) => [version, Math.floor(percent)]));
  let missing = total - [...floors.values()].reduce((added, percent) => added + percent, 0);
  for (const [version, percent] of exact.toSorted(([, a], [, b]) => (b % 1) - (a % 1))) {
    if (missing === 0) break;
    floors.set(version, Math.floor(percent) + 1);
    missing -= 1;
  }
  return Object.fromEntries([...floors].filter(([, percent]) => percent > 0));
}

function sameTraffic(a: Traffic, b: Traffic): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
