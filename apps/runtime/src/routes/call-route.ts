import { isJsonObject } from '../applications/json-text.js';
import { NullRecord } from '../bindings/null-record.js';
import { pathSegments } from './request-target.js';
import { matchRoute, type RouteParameters } from './route-matcher.js';
import type { TemplatedRoute } from './route-table.js';
import type { RouteParameter, RouteSegment } from './route-template.js';

/** The request line of a call of a function with an HTTP trigger. */
interface CallTarget {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  readonly query: Readonly<Record<string, string>>;
  readonly params: RouteParameters;
  /** True: the input is the body. False: its values are in the query. */
  readonly hasBody: boolean;
}

interface CallValues {
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** Called only if a value of the input is needed. */
  readonly input: () => unknown;
}

/**
 * Builds the request of a call for one route. The method is POST if the function accepts it, else its first method. A route
 * parameter is filled from the metadata, else from the property of the input with that name. Other metadata becomes the query;
 * for a GET, which has no body, so does the rest of the input.
 */
export class CallRoute {
  readonly #route: TemplatedRoute;
  readonly #method: string;
  readonly #hasBody: boolean;
  /** In lower case, for comparisons. */
  readonly #parameters: ReadonlySet<string>;
  /** The target of all calls without metadata, if the route has no parameters. */
  readonly #always: CallTarget | undefined;

  constructor(route: TemplatedRoute) {
    const { methods, template } = route;
    this.#route = route;
    this.#method = !methods || methods.has('POST') ? 'POST' : ([...methods][0] ?? 'POST');
    this.#hasBody = this.#method !== 'GET' && this.#method !== 'HEAD';
    const names = template.segments
      .flat()
      .flatMap((part) => (part.kind === 'parameter' ? part.name.toLowerCase() : []));
    this.#parameters = new Set(names);
    if (names.length > 0 || !this.#hasBody) return;
    const always = this.#fill(new NullRecord(), new NullRecord());
    if (!('problem' in always)) this.#always = always;
  }

  target({ metadata, input }: CallValues): CallTarget | { readonly problem: string } {
    if (this.#always && metadata === undefined) return this.#always;
    const values = new NullRecord<string>();
    const query = new NullRecord<string>();
    const put = (name: string, value: string): void => {
      const folded = name.toLowerCase();
      if (!this.#parameters.has(folded)) query[name] = value;
      else if (value !== '') values[folded] = value;
    };
    if (this.#parameters.size > 0 || !this.#hasBody) {
      const given = input();
      for (const [name, value] of Object.entries(isJsonObject(given) ? given : {})) {
        if (this.#hasBody && !this.#parameters.has(name.toLowerCase())) continue;
        if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
          put(name, String(value));
      }
    }
    for (const name of Object.keys(metadata ?? {})) put(name, metadata?.[name] ?? '');
    return this.#fill(values, query);
  }

  #fill(
    values: Readonly<Record<string, string>>,
    query: Readonly<Record<string, string>>,
  ): CallTarget | { readonly problem: string } {
    const { template, path: shown } = this.#route;
    const path: string[] = [];
    for (const segment of template.segments) {
      const text = fillSegment(segment, values);
      if (typeof text !== 'string') {
        if (text.canEnd) break;
        return {
          problem: `The route "${shown}" needs a value for "${text.missing}". Send it in the metadata or in the input.`,
        };
      }
      path.push(text);
    }
    const filled = `/${path.join('/')}`;
    const segments = pathSegments(filled);
    // The route matcher checks the constraints, as it does for every request.
    const params = segments && matchRoute(template, segments);
    if (!params)
      return {
        problem: `The metadata or the input has a value that does not match the route "${shown}". Correct it.`,
      };
    const search = new URLSearchParams(Object.entries(query)).toString();
    const address = search === '' ? filled : `${filled}?${search}`;
    return { method: this.#method, address, query, params, hasBody: this.#hasBody };
  }
}

/** Returns the text of a segment, or its missing parameter; `canEnd`: the path may end before the segment. */
function fillSegment(
  segment: RouteSegment,
  values: Readonly<Record<string, string>>,
): string | { readonly missing: string; readonly canEnd: boolean } {
  let text = '';
  for (const [index, part] of segment.entries()) {
    if (part.kind === 'literal') {
      const next = segment[index + 1];
      // The dot before an omitted optional ending is omitted too.
      const isLeftOut = next?.kind === 'parameter' && next.isOptional && values[next.name.toLowerCase()] === undefined;
      if (!isLeftOut) text += encodeURIComponent(part.text);
      continue;
    }
    const value = values[part.name.toLowerCase()];
    if (value !== undefined) text += encodeParameter(part, value);
    else if (segment.length === 1) return { missing: part.name, canEnd: canBeLeftOut(part) };
    else if (part.fallback !== undefined) text += encodeParameter(part, part.fallback);
    else if (!part.isOptional) return { missing: part.name, canEnd: false };
  }
  return text;
}

function canBeLeftOut({ isOptional, isCatchAll, fallback }: RouteParameter): boolean {
  return isOptional || isCatchAll || fallback !== undefined;
}

function encodeParameter({ isCatchAll }: RouteParameter, value: string): string {
  return isCatchAll ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
}
