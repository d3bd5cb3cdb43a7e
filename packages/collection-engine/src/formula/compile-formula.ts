import type { FieldType } from '@drover/contracts';
import { nearestName } from '@drover/service-kit';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import type { FormulaExpression, FormulaType, SystemAttribute } from './formula-expression.js';
import {
  asResult,
  formulaFunctions,
  numberLiteral,
  operators,
  prefixOperators,
  type FormulaOperand,
} from './formula-functions.js';
import { FormulaError, parseFormula, type FormulaNode } from './parse-formula.js';

/** What is wrong with a formula, where, and what to do. */
export interface FormulaProblem {
  readonly problem: string;
}

/** Bound of a formula with all formulas that it uses. */
const maxOperations = 500;
const attributes: ReadonlyMap<string, FormulaType> = new Map<SystemAttribute, FormulaType>([
  ['id', 'text'],
  ['version', 'number'],
  ['createdAt', 'datetime'],
  ['updatedAt', 'datetime'],
  ['createdBy', 'text'],
  ['updatedBy', 'text'],
]);
const results: Readonly<Partial<Record<FieldType, FormulaType>>> = {
  STRING: 'text',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
  DATE: 'date',
  DATETIME: 'datetime',
};
const typeNames: Readonly<Record<FormulaType, string>> = {
  text: 'STRING',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  date: 'DATE',
  datetime: 'DATETIME',
};

/** Compiles the formula of a field. */
export function compileFormulaField(
  collection: CollectionModel,
  field: FieldModel,
): FormulaExpression | FormulaProblem {
  return guarded(() => new FormulaCompiler(collection, 'field').formulaOf(field, 0));
}

/** Compiles the condition of a validation rule: true refuses the write. It reads only what clients can write. */
export function compileCondition(collection: CollectionModel, source: string): FormulaExpression | FormulaProblem {
  return guarded(() => {
    const condition = new FormulaCompiler(collection, 'rule').compile(source);
    if (condition.type !== 'boolean') throw new FormulaError('The condition must be true or false', 0);
    return condition;
  });
}

/**
 * Compiles the default of a field. It reads what clients write, and of the fields with such a default only those before it: their values
 * are known by then.
 */
export function compileDefault(collection: CollectionModel, field: FieldModel): FormulaExpression | FormulaProblem {
  const fields = [...collection.fields.values()];
  const later = fields
    .slice(fields.indexOf(field))
    .filter((one) => one === field || one.definition.defaultFormula !== undefined)
    .map(({ name }) => name);
  return guarded(() => {
    const expression = new FormulaCompiler(collection, 'default', new Set(later)).compile(
      field.definition.defaultFormula ?? '',
    );
    const wanted = typeOf(field);
    const result = wanted === 'other' || expression.type === 'other' ? undefined : asResult(expression, wanted);
    return (
      result ?? fail(`The formula gives ${expression.type}, which is no default of a field of type ${field.type}`, 0)
    );
  });
}

function guarded(compile: () => FormulaExpression): FormulaExpression | FormulaProblem {
  try {
    return compile();
  } catch (error) {
    if (error instanceof FormulaError) return { problem: error.message };
    throw error;
  }
}

/** What a formula is for. Rules and defaults are computed before the record is written. */
type FormulaUse = 'field' | 'rule' | 'default';
const useNames: Readonly<Record<FormulaUse, string>> = {
  field: 'a formula',
  rule: 'a validation rule',
  default: 'a default',
};

class FormulaCompiler {
  readonly #collection: CollectionModel;
  readonly #use: FormulaUse;
  /** Fields without a value when the formula is computed. */
  readonly #unknown: ReadonlySet<string>;
  /** Formulas that are being written out: a formula that leads back to one of them has no value. */
  readonly #open: string[] = [];
  #operations = 0;

  constructor(collection: CollectionModel, use: FormulaUse, unknown: ReadonlySet<string> = new Set()) {
    this.#collection = collection;
    this.#use = use;
    this.#unknown = unknown;
  }

  compile(source: string): FormulaExpression {
    const { expression, isNull } = this.#operand(parseFormula(source));
    if (isNull) throw new FormulaError('The formula has no value', 0);
    return expression;
  }

  formulaOf({ name, definition }: FieldModel, at: number): FormulaExpression {
    if (this.#open.includes(name)) {
      throw new FormulaError(`Formulas use each other in a circle: ${[...this.#open, name].join(' → ')}`, at);
    }
    const { expression: source = '', returns = 'STRING' } = definition.formula ?? {};
    const wanted = results[returns] ?? 'text';
    this.#open.push(name);
    const expression = this.compile(source);
    this.#open.pop();
    if (expression.type === 'other') throw new FormulaError('A formula cannot return a JSON value', at);
    const result = asResult(expression, wanted);
    if (result) return result;
    const type = typeNames[expression.type];
    throw new FormulaError(`The formula of "${name}" gives ${type}, not ${returns}. Set "returns" to ${type}`, at);
  }

  #operand(node: FormulaNode): FormulaOperand {
    this.#operations += 1;
    if (this.#operations > maxOperations) {
      throw new FormulaError(
        `The formula has more than ${maxOperations} parts, with the formulas that it uses`,
        node.at,
      );
    }
    const isNull = node.kind === 'word' && node.word === 'NULL';
    return { expression: this.#expression(node), isNull };
  }

  #expression(node: FormulaNode): FormulaExpression {
    switch (node.kind) {
      case 'number':
        return numberLiteral(node.text) ?? fail('The number must be smaller than 10^30', node.at);
      case 'text':
        return { kind: 'literal', type: 'text', value: node.text };
      case 'word':
        return node.word === 'NULL'
          ? { kind: 'literal', type: 'text', value: null }
          : { kind: 'literal', type: 'boolean', value: node.word === 'TRUE' };
      case 'field':
        return this.#field(node.name, node.at);
      case 'operator':
        return this.#operator(node.operator, node.operands, node.at);
      case 'call':
        return this.#call(node.name, node.operands, node.at);
    }
  }

  #operator(operator: string, nodes: readonly FormulaNode[], at: number): FormulaExpression {
    const build = (nodes.length === 1 ? prefixOperators : operators).get(operator);
    if (!build) return fail(`"${operator}" is no operator`, at);
    const operands = nodes.map((node) => this.#operand(node));
    return build(operands, (reason) => fail(reason, at), `"${operator}"`);
  }

  #call(name: string, nodes: readonly FormulaNode[], at: number): FormulaExpression {
    const found = formulaFunctions.get(name);
    if (!found) {
      const names = [...formulaFunctions.keys()];
      const near = nearestName(name, names);
      const hint = near === undefined ? `Known functions are ${names.join(', ')}` : `Did you mean ${near}?`;
      return fail(`Function ${name} does not exist. ${hint}`, at);
    }
    if (nodes.length < found.least || nodes.length > found.most) {
      const wanted = found.least === found.most ? String(found.least) : `${found.least} to ${found.most}`;
      return fail(`${name} takes ${wanted} operands, not ${nodes.length}`, at);
    }
    const operands = nodes.map((node) => this.#operand(node));
    return found.build(operands, (reason) => fail(reason, at), name);
  }

  #field(name: string, at: number): FormulaExpression {
    const field = this.#collection.fields.get(name);
    if (!field) return this.#attribute(name, at);
    if (field.type === 'FORMULA') return this.formulaOf(field, at);
    if (field.type === 'ENCRYPTED') return fail(`"${name}" is encrypted; a formula cannot read it`, at);
    if (this.#use !== 'field' && !field.traits.isWritable) {
      return fail(`"${name}" is ${field.type}; ${useNames[this.#use]} reads only what clients write`, at);
    }
    if (this.#unknown.has(name)) {
      return fail(`"${name}" has no value yet: a default reads only defaults by formula of fields before it`, at);
    }
    return { kind: 'field', type: typeOf(field), field };
  }

  #attribute(name: string, at: number): FormulaExpression {
    const type = attributes.get(name);
    if (type === undefined) {
      const near = nearestName(name, [...this.#collection.fields.keys(), ...attributes.keys()]);
      const hint = near === undefined ? '' : `. Did you mean "${near}"?`;
      return fail(`Field "${name}" does not exist${hint}`, at);
    }
    if (this.#use !== 'field') {
      return fail(`"${name}" is set by the platform; ${useNames[this.#use]} cannot read it`, at);
    }
    return { kind: 'attribute', type, name: name as SystemAttribute }; // a key of the map above
  }
}

function fail(problem: string, at: number): never {
  throw new FormulaError(problem, at);
}

function typeOf({ traits }: FieldModel): FormulaType | 'other' {
  switch (traits.kind) {
    case 'integer':
    case 'number':
      return 'number';
    case 'text':
    case 'reference':
      return 'text';
    case 'boolean':
    case 'date':
    case 'datetime':
      return traits.kind;
    case 'json':
    case 'list':
      return 'other';
  }
}
