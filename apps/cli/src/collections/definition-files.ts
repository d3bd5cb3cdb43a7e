import { readFile } from 'node:fs/promises';
import type { CollectionDefinition } from '@drover/contracts';
import { LineCounter, parseAllDocuments } from 'yaml';

/** The bound on aliases keeps a small file from becoming a huge one. */
const maxAliases = 100;

/** Reads the definitions of all files, in order. Throws an Error that names the file and the line of the first mistake. */
export async function readDefinitionFiles(files: readonly string[]): Promise<CollectionDefinition[]> {
  const definitions: CollectionDefinition[] = [];
  for (const file of files) definitions.push(...parseDefinitions(await readText(file), file));
  const seen = new Set<string>();
  for (const { name } of definitions) {
    if (seen.has(name)) throw new Error(`The collection "${name}" is defined twice. Keep one of the definitions.`);
    seen.add(name);
  }
  return definitions;
}

/**
 * Parses YAML, of which JSON is a part. A document is a definition, a list of definitions, or an object whose `collections` is such
 * a list; a file may have several documents. The platform checks the definitions themselves.
 */
export function parseDefinitions(text: string, file: string): CollectionDefinition[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  if ('empty' in documents) throw new Error(`The file ${file} is empty. Write a definition into it.`);
  const definitions = documents.flatMap((document) => {
    const [error] = document.errors;
    if (error) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new Error(`The file ${file} is not valid YAML or JSON: ${error.message} (line ${line}, column ${col}).`);
    }
    return definitionsIn(document.toJS({ maxAliasCount: maxAliases }), file);
  });
  if (definitions.length === 0) throw new Error(`The file ${file} defines no collection. Write a definition into it.`);
  return definitions;
}

function definitionsIn(document: unknown, file: string): CollectionDefinition[] {
  if (document === null) return []; // nothing between two separators
  const list = Array.isArray(document)
    ? document
    : isObject(document)
      ? (document['collections'] ?? document)
      : document;
  return [list].flat().map((definition: unknown) => {
    if (isObject(definition) && typeof definition['name'] === 'string') return definition as CollectionDefinition; // the platform checks the rest
    throw new Error(`The file ${file} has a definition without a name. Give each collection a "name".`);
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
