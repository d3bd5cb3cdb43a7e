import { triggerOptionsInvalid } from '../errors.js';
import { readByRules, wholeNumber, type OptionRule } from '../options/option-rules.js';

/** The options of a table input or output: every value is checked. */
export interface TableOptions {
  readonly tableName: string;
  readonly partitionKey: string | undefined;
  readonly rowKey: string | undefined;
  readonly filter: string | undefined;
  readonly take: number | undefined;
}

const tableName: OptionRule<string> = {
  allowed: '3 to 63 letters and digits, beginning with a letter',
  read(value) {
    const name = typeof value === 'string' ? value.trim() : '';
    return /^[A-Za-z][A-Za-z0-9]{2,62}$/.test(name) ? name : undefined;
  },
};
const text: OptionRule<string> = {
  allowed: 'a text',
  read: (value) => (typeof value === 'string' ? value : undefined),
};
const rules = {
  tableName,
  partitionKey: text,
  rowKey: text,
  filter: text,
  take: wholeNumber(0, 2 ** 31 - 1),
};

interface TableOptionsRequest {
  readonly functionName: string;
  /** The binding as the app declared it, with expressions evaluated. */
  readonly binding: unknown;
}

/** Returns the options of a table binding. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function tableOptions({ functionName, binding }: TableOptionsRequest, kind: 'input' | 'output'): TableOptions {
  const { values: own, problems } = readByRules(rules, binding);
  const found = problems.map(({ key, problem }) => `its table ${kind}${key === '' ? '' : `: ${key}`} ${problem}`);
  if (own.tableName === undefined && !problems.some(({ key }) => key === '' || key === 'tableName'))
    found.push(`its table ${kind} needs a tableName: ${tableName.allowed}`);
  const rowKey = own.rowKey === '' && kind === 'output' ? undefined : own.rowKey;
  if (kind === 'input' && rowKey !== undefined && own.partitionKey === undefined)
    found.push('its table input has a rowKey, so it needs a partitionKey');
  if (kind === 'input' && rowKey !== undefined && (own.filter || own.take))
    found.push('its table input has a rowKey, which reads one entity: remove filter and take');
  if (own.tableName === undefined || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    tableName: own.tableName,
    partitionKey: own.partitionKey,
    rowKey,
    filter: own.filter || undefined,
    take: own.take || undefined,
  };
}
