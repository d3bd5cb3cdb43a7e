import type { DeployedApplications } from '../deployments/deployed-applications.js';
import type { DeployedVersion, FunctionIndex } from '../deployments/deployed-version.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication, HttpApplications, RequestLine, ServedState } from '../routes/http-application.js';
import type { SpecializableApplications } from '../specialization/specializer.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { HostedApplications } from './hosted-applications.js';

/** All applications of a runtime: those of its own folders, and those that a scale controller gave to it. */
export class RuntimeApplications implements HttpApplications, SpecializableApplications {
  readonly #deployed: DeployedApplications;
  readonly #hosted: HostedApplications;

  constructor(deployed: DeployedApplications, hosted: HostedApplications) {
    this.#deployed = deployed;
    this.#hosted = hosted;
  }

  find(versionKey: string): DeployedVersion | undefined | Promise<DeployedVersion | undefined> {
    return this.#deployed.find(versionKey) ?? this.#hosted.find(versionKey);
  }

  readIndex(worker: FunctionWorker, version: DeployedVersion): Promise<FunctionIndex> {
    return this.#ownerOf(version).readIndex(worker, version);
  }

  openJobHost(version: DeployedVersion, index: FunctionIndex): Promise<JobHost> {
    return this.#ownerOf(version).openJobHost(version, index);
  }

  lostBy(deployed: DeployedVersion, functions: ReadonlySet<string>): readonly string[] {
    return this.#ownerOf(deployed).lostBy(deployed, functions);
  }

  recordReady(versionKey: string, host: JobHost): void {
    this.#deployed.recordReady(versionKey, host);
    this.#hosted.recordReady(versionKey);
  }

  recordBroken(versionKey: string, error: unknown): void {
    this.#deployed.recordBroken(versionKey, error);
    this.#hosted.recordBroken(versionKey, error);
  }

  resolve(request: RequestLine): HttpApplication | undefined {
    if (this.#hosted.isEmpty) return this.#deployed.resolve(request);
    // The usual case of one application needs no look at its routes.
    const only = this.#deployed.names.length === 0 ? this.#hosted.only : undefined;
    return only ?? this.#hosted.match(request) ?? this.#deployed.resolve(request) ?? this.#hosted.all()[0];
  }

  named(name: string, functionName: string): HttpApplication | undefined {
    return this.#hosted.named(name, functionName) ?? this.#deployed.named(name);
  }

  untilServed(state: ServedState, signal: AbortSignal): Promise<string | undefined> {
    return this.#hosted.untilServed(state, signal);
  }

  untilKnown(): Promise<void> | undefined {
    return this.#hosted.untilKnown();
  }

  all(): readonly HttpApplication[] {
    return [...this.#deployed.all(), ...this.#hosted.all()];
  }

  problems(): readonly { readonly application: string; readonly problem: string }[] {
    return [...this.#deployed.problems(), ...this.#hosted.problems()];
  }

  #ownerOf({ hosted }: DeployedVersion): Pick<SpecializableApplications, 'readIndex' | 'openJobHost' | 'lostBy'> {
    return hosted ? this.#hosted : this.#deployed;
  }
}
