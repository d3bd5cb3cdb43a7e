import { readFile } from 'node:fs/promises';
import type { CollectionDefinition, PicklistDefinition } from '@drover/contracts';
import { LineCounter, parseAllDocuments } from 'yaml';

/** The bound on aliases keeps a small file from becoming a huge one. */
const maxAliases = 100;

/** What files define: collections, and picklists that their fields share. */
export interface DefinitionSet {
  readonly collections: CollectionDefinition[];
  readonly picklists: PicklistDefinition[];
}

/** Reads the definitions of all files, in order. Throws an Error that names the file and the line of the first mistake. */
export async function readDefinitionFiles(files: readonly string[]): Promise<DefinitionSet> {
  const all: DefinitionSet = { collections: [], picklists: [] };
  for (const file of files) {
    const { collections, picklists } = parseDefinitions(await readText(file), file);
    all.collections.push(...collections);
    all.picklists.push(...picklists);
  }
  for (const kind of ['collections', 'picklists'] as const) {
    const names = all[kind].map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new Error(`The ${kind.slice(0, -1)} "${twice}" is defined twice. Keep one of the definitions.`);
  }
  return all;
}

/**
 * Parses YAML, of which JSON is a part. A document is a definition, a list of definitions, or an object whose `collections` and
 * `picklists` are such lists; a file may have several documents. The platform checks the definitions themselves.
 */
export function parseDefinitions(text: string, file: string): DefinitionSet {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  if ('empty' in documents) throw new Error(`The file ${file} is empty. Write a definition into it.`);
  const sets = documents.map((document) => {
    const [error] = document.errors;
    if (error) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new Error(`The file ${file} is not valid YAML or JSON: ${error.message} (line ${line}, column ${col}).`);
    }
    return definitionsIn(document.toJS({ maxAliasCount: maxAliases }), file);
  });
  const all = {
    collections: sets.flatMap(({ collections }) => collections),
    picklists: sets.flatMap(({ picklists }) => picklists),
  };
  if (all.collections.length + all.picklists.length === 0)
    throw new Error(`The file ${file} defines no collection. Write a definition into it.`);
  return all;
}

function definitionsIn(document: unknown, file: string): DefinitionSet {
  if (document === null) return { collections: [], picklists: [] }; // nothing between two separators
  const isSet = isObject(document) && (document['collections'] !== undefined || document['picklists'] !== undefined);
  const { collections, picklists } = isSet ? document : { collections: document, picklists: undefined };
  // The platform checks the rest.
  return {
    collections: namedIn(collections, file, 'collection') as CollectionDefinition[],
    picklists: namedIn(picklists, file, 'picklist') as PicklistDefinition[],
  };
}

function namedIn(list: unknown, file: string, kind: string): object[] {
  return [list ?? []].flat().map((definition: unknown) => {
    if (isObject(definition) && typeof definition['name'] === 'string') return definition;
    throw new Error(`The file ${file} has a definition without a name. Give each ${kind} a "name".`);
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`The file ${file} cannot be read (${reason}). Check its path and permissions.`, { cause: error });
  }
}
