/**
 * Checks a document against one of the shipped JSON Schemas. Knows the keywords these use and throws on any other, so that a
 * schema cannot say something that no test looks at.
 */
import { readFileSync } from 'node:fs';

type Schema = { readonly [keyword: string]: unknown };

const ANNOTATIONS = new Set(['$schema', '$id', '$defs', 'title', 'description']);

/** The complaints about a document, each with its path; empty when it conforms. */
export function schemaComplaints(document: unknown, schemaFile: string): string[] {
  const root: Schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
  return complaintsOf(document, root, root, '$');
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function hasType(value: unknown, type: string): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

type Check = (value: unknown, expected: unknown, root: Schema, path: string) => string[];

const CHECKS: Readonly<Record<string, Check>> = {
  $ref: (value, reference, root, path) => {
    if (reference === '#') return complaintsOf(value, root, root, path);
    const name = String(reference).replace('#/$defs/', '');
    const target = (root.$defs as Record<string, Schema>)[name];
    if (target === undefined) throw new Error(`the schema refers to ${reference}, which it does not define`);
    return complaintsOf(value, target, root, path);
  },
  anyOf: (value, schemas, root, path) => {
    const complaints = (schemas as Schema[]).map((schema) => complaintsOf(value, schema, root, path));
    return complaints.some(({ length }) => length === 0) ? [] : complaints.flat();
  },
  type: (value, types, _root, path) =>
    [types].flat().some((type) => hasType(value, String(type))) ? [] : [`${path} is ${typeOf(value)}, not ${types}`],
  const: (value, expected, _root, path) => (value === expected ? [] : [`${path} is not ${expected}`]),
  enum: (value, allowed, _root, path) =>
    (allowed as unknown[]).includes(value) ? [] : [`${path} is none of the values`],
  minimum: (value, least, _root, path) =>
    typeof value !== 'number' || value >= Number(least) ? [] : [`${path} < ${least}`],
  minLength: (value, least, _root, path) =>
    typeof value !== 'string' || value.length >= Number(least) ? [] : [`${path} is too short`],
  required: (value, keys, _root, path) =>
    typeOf(value) !== 'object'
      ? []
      : (keys as string[])
          .filter((key) => !Object.hasOwn(value as object, key))
          .map((key) => `${path}.${key} is missing`),
  properties: (value, properties, root, path) =>
    typeOf(value) !== 'object'
      ? []
      : Object.entries(value as object).flatMap(([key, member]) => {
          const schema = (properties as Record<string, Schema>)[key];
          return schema === undefined
            ? [`${path}.${key} is not described`]
            : complaintsOf(member, schema, root, `${path}.${key}`);
        }),
  items: (value, schema, root, path) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => complaintsOf(item, schema as Schema, root, `${path}[${index}]`))
      : [],
};

function complaintsOf(value: unknown, schema: Schema, root: Schema, path: string): string[] {
  return Object.entries(schema).flatMap(([keyword, expected]) => {
    if (ANNOTATIONS.has(keyword)) return [];
    const check = CHECKS[keyword];
    if (check === undefined) throw new Error(`the schema uses ${keyword}, which this check does not know`);
    return check(value, expected, root, path);
  });
}
