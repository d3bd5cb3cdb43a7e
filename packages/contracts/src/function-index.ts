/** The HTTP route of a function, with the route prefix of its application. */
export interface IndexedRoute {
  /** As the app writes it, without a leading slash: `api/orders/{id}`. */
  readonly path: string;
  /** The segments before the first parameter, in lower case, since routes match in any case: `api`, `orders`. */
  readonly literals: readonly string[];
}

/** A function of a deployed version, as far as deployment, scaling and the command line need it. */
export interface IndexedFunction {
  readonly name: string;
  /** In Azure's spelling: `queueTrigger`. */
  readonly triggerType: string;
  readonly isDisabled: boolean;
  /** Declared options of the trigger: queue name, connection, schedule, route … */
  readonly trigger: Readonly<Record<string, unknown>>;
  /** Absent for other triggers, for a route that is a problem, and in versions of releases that did not store it. */
  readonly route?: IndexedRoute;
  /** Complete metadata in the JSON encoding of the protocol: a runtime serves and loads the function from it. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The functions of a version, as a worker indexed and a runtime checked them when it was deployed. */
export interface StoredFunctionIndex {
  readonly metadataVersion: string;
  /** Options for the program of its workers that its local.settings.json has; those of its settings come from there. */
  readonly programOptions?: readonly string[];
  readonly functions: readonly IndexedFunction[];
  /** Functions that do not run, each with the reason. */
  readonly problems: readonly {
    readonly functionName: string;
    readonly problem: string;
    /** Code could not be loaded: functions of it may be missing. */
    readonly isLoadFailure?: true;
  }[];
}
