import type { RecordLimits } from '../request/record-context.js';
import { limitExceeded } from '../request/request-errors.js';
import { NumberLiteral, parseClientJson } from '../values/number-literal.js';
import { listOperators, toGroup, toOperator, type FilterOperator } from './operators.js';
import type { QueryParameter } from './query-parameters.js';
import { excerpt, queryProblem } from './query-problem.js';

export type FilterValue = string | number | boolean | null;

/** A filter as it was written: names are not resolved, and values are not checked. */
export type FilterNode =
  | { readonly kind: 'and' | 'or'; readonly nodes: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly node: FilterNode }
  | FilterCondition;

export interface FilterCondition {
  readonly kind: 'condition';
  /** Names of relations, then of a field, then keys of its JSON value. */
  readonly path: readonly string[];
  readonly operator: FilterOperator;
  /** Texts of the query string, or values of a filter in JSON. One, except for operators that take a list. */
  readonly values: readonly FilterValue[];
  /** The query parameter that it was written in. */
  readonly parameter: string;
}

/** Brackets and JSON have the same structure: keys that lead to values. Arrays have their indexes as keys. */
interface Branch {
  readonly parameter: string;
  readonly values: FilterValue[];
  readonly children: Map<string, Branch>;
}

type FilterLimits = Pick<RecordLimits, 'conditions' | 'listValues'>;

const deepest = 20;

/**
 * Reads `filter[…]=…` in all its forms, joined by AND: `filter[field][op]`, groups (`filter[or][0][field][op]`), nested relations
 * (`filter[customer][country][eq]`) and JSON (`filter={"or":[…]}`). Returns undefined without conditions.
 */
export function parseFilter(parameters: readonly QueryParameter[], limits: FilterLimits): FilterNode | undefined {
  const [first] = parameters;
  if (!first) return undefined;
  const root = newBranch(first.family);
  const documents: Branch[] = [];
  for (const parameter of parameters) {
    if (parameter.keys.length === 0) documents.push(readJson(parameter));
    else addParameter(root, parameter);
  }
  const reading = { limits, count: 0 };
  const nodes = [root, ...documents].flatMap((branch) => readObject(branch, [], reading, 0));
  return nodes.length === 0 ? undefined : allOf(nodes);
}

const allOf = (nodes: readonly FilterNode[]): FilterNode =>
  nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'and', nodes };

const newBranch = (parameter: string): Branch => ({ parameter, values: [], children: new Map() });

function addParameter(root: Branch, { keys, name, value }: QueryParameter): void {
  let branch = root;
  for (const key of keys) {
    let next = branch.children.get(key);
    if (!next) branch.children.set(key, (next = newBranch(name)));
    branch = next;
  }
  branch.values.push(value);
}

function readJson({ name, value }: QueryParameter): Branch {
  let content: unknown;
  try {
    content = parseClientJson(value);
  } catch {
    content = undefined;
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw queryProblem(
      name,
      'INVALID_SYNTAX',
      `The parameter "${name}" is not a JSON object. Write it like ${name}={"status":{"eq":"paid"}} or ${name}[status][eq]=paid.`,
    );
  return toBranch(content, name, 0);
}

function toBranch(content: unknown, parameter: string, depth: number): Branch {
  if (depth > deepest) throw tooDeep(parameter);
  const branch = newBranch(parameter);
  if (content instanceof NumberLiteral) {
    if (!content.isExact)
      throw queryProblem(
        parameter,
        'INVALID_VALUE',
        `The number ${excerpt(content.text)} is one that a double cannot hold. Send it as a text.`,
      );
    branch.values.push(Number(content.text));
    return branch;
  }
  if (typeof content !== 'object' || content === null) {
    if (typeof content === 'string' && content.includes('\0'))
      throw queryProblem(parameter, 'INVALID_VALUE', 'A value contains the character NUL, which no stored text has.');
    branch.values.push(content as FilterValue); // JSON has no other values than these, objects and arrays
    return branch;
  }
  for (const [key, value] of Object.entries(content)) branch.children.set(key, toBranch(value, parameter, depth + 1));
  return branch;
}

interface Reading {
  readonly limits: FilterLimits;
  count: number;
}

/** Reads a branch whose keys are groups, fields, and after a field operators or further names of its path. */
function readObject(branch: Branch, path: readonly string[], reading: Reading, depth: number): FilterNode[] {
  if (depth > deepest) throw tooDeep(branch.parameter);
  return [...branch.children].flatMap(([key, child]) => {
    if (child.values.length === 0 && child.children.size === 0)
      throw queryProblem(child.parameter, 'INVALID_SYNTAX', `"${excerpt(key)}" has no value.`);
    const group = toGroup(key);
    if (group && child.values.length === 0 && !hasOnlyOperators(child))
      return [readGroup(group, child, path, reading, depth)];
    const operator = path.length > 0 ? toOperator(key) : undefined;
    if (operator && (child.values.length > 0 || isList(child))) return readConditions(child, path, operator, reading);
    const longer = [...path, ...key.split('.')];
    if (path.length === 0 && child.values.length > 0 && group)
      throw queryProblem(
        child.parameter,
        'INVALID_SYNTAX',
        `The group "${key}" needs conditions, like ${key}[0][status][eq].`,
      );
    const operatorOfValues = child.values.length === 0 && isList(child) ? 'in' : 'eq';
    const shorthand =
      child.values.length > 0 || operatorOfValues === 'in'
        ? readConditions(child, longer, operatorOfValues, reading)
        : [];
    return operatorOfValues === 'in' ? shorthand : [...shorthand, ...readObject(child, longer, reading, depth + 1)];
  });
}

function readGroup(
  group: 'and' | 'or' | 'not',
  branch: Branch,
  path: readonly string[],
  reading: Reading,
  depth: number,
): FilterNode {
  const members = [...branch.children].map(([key, child]) => {
    const member = isIndex(key) ? child : { ...branch, values: [], children: new Map([[key, child]]) };
    const nodes = readObject(member, path, reading, depth + 1);
    if (nodes.length === 0 || member.values.length > 0)
      throw queryProblem(child.parameter, 'INVALID_SYNTAX', `A member of the group "${group}" has no condition.`);
    return allOf(nodes);
  });
  if (members.length === 0)
    throw queryProblem(branch.parameter, 'INVALID_SYNTAX', `The group "${group}" has no condition.`);
  return group === 'not' ? { kind: 'not', node: allOf(members) } : { kind: group, nodes: members };
}

function readConditions(
  branch: Branch,
  path: readonly string[],
  operator: FilterOperator,
  reading: Reading,
): FilterCondition[] {
  const { parameter } = branch;
  if (path.some((name) => name === ''))
    throw queryProblem(parameter, 'INVALID_SYNTAX', `The parameter "${excerpt(parameter)}" has an empty name.`);
  const values = [...branch.values, ...[...branch.children.values()].flatMap((child) => child.values)];
  const condition = (its: readonly FilterValue[]): FilterCondition => {
    reading.count += 1;
    const { conditions, listValues } = reading.limits;
    if (reading.count > conditions)
      throw limitExceeded({
        limit: 'filter conditions or more',
        value: reading.count,
        allowed: conditions,
        next: 'Use "in" for many values of one field.',
      });
    if (its.length > listValues)
      throw limitExceeded({
        limit: `values in "${excerpt(parameter)}"`,
        value: its.length,
        allowed: listValues,
        next: 'Send several requests with fewer values.',
      });
    return { kind: 'condition', path, operator, values: its, parameter };
  };
  if (!listOperators.has(operator)) return values.map((value) => condition([value]));
  const [only] = values;
  // An array of JSON with one text, and `[in][0]=a,b`, are lists already.
  const isOneText = values.length === 1 && typeof only === 'string' && branch.children.size === 0;
  return [condition(isOneText ? only.split(',') : values)];
}

/** A field may have the name of a group: `filter[or][eq]=5`. */
const hasOnlyOperators = ({ children }: Branch): boolean =>
  children.size > 0 &&
  [...children].every(([key, child]) => toOperator(key) !== undefined && (child.values.length > 0 || isList(child)));

/** `[in][0]=a&[in][1]=b`, `[in][]=a` and arrays of JSON. */
const isList = ({ children }: Branch): boolean =>
  children.size > 0 && [...children].every(([key, child]) => (key === '' || isIndex(key)) && child.children.size === 0);

const isIndex = (key: string): boolean => /^\d{1,4}$/.test(key);

const tooDeep = (parameter: string): Error =>
  queryProblem(excerpt(parameter), 'INVALID_SYNTAX', `The filter is nested more than ${deepest} levels deep.`);
