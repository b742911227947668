/**
 * Which resource a request target names. Works on the raw target: URL parsers fold `%2E%2E` into a path step, and then
 * a delete of the trace ".." would reach another resource (spec 06 section 1, spec 08 B22).
 */
import { Refusal, rejected } from './refusal.js';

export type Route =
  | { readonly name: 'traces' | 'episodes' | 'runs' }
  | { readonly name: 'trace' | 'episode' | 'episode-traces' | 'run' | 'run-steps'; readonly id: string };

export type Target = { readonly route: Route; readonly query: URLSearchParams };

const PREFIX = '/api/v1/';

/** Routes that newer clients know and this service does not have. */
const ABSENT = new Set(['traces/*/nodes', 'traces/*/calls', 'runs/*/search', 'traces/export', 'exports', 'exports/*']);

/**
 * Splits a request target as it stood on the request line.
 *
 * @throws Refusal 404 for an unknown path or an id with an encoded slash, 400 for a broken percent escape,
 *   501 for routes of the published service that are left out here.
 */
export function parseTarget(target: string): Target {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
  if (!path.startsWith(PREFIX)) throw notFound(path);
  const segments = path.slice(PREFIX.length).split('/').map(decodeSegment);
  if (segments.some((segment) => segment === '' || segment.includes('/'))) throw notFound(path);
  const route = routeOf(segments);
  if (route === null) throw absentOrUnknown(segments, path);
  return { route, query };
}

function routeOf(segments: readonly string[]): Route | null {
  const [collection, id, member] = segments;
  if (segments.length === 1) {
    return collection === 'traces' || collection === 'episodes' || collection === 'runs' ? { name: collection } : null;
  }
  if (id === undefined) return null;
  if (segments.length === 2) {
    if (collection === 'traces' && id !== 'export') return { name: 'trace', id };
    if (collection === 'episodes') return { name: 'episode', id };
    return collection === 'runs' ? { name: 'run', id } : null;
  }
  if (segments.length !== 3) return null;
  if (collection === 'episodes' && member === 'traces') return { name: 'episode-traces', id };
  return collection === 'runs' && member === 'steps' ? { name: 'run-steps', id } : null;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw rejected('invalid_filter', `"${segment}" in the path is not a percent-encoded UTF-8 id`);
  }
}

function absentOrUnknown(segments: readonly string[], path: string): Refusal {
  const [collection = '', id, ...rest] = segments;
  const shapes = [segments.slice(0, 2).join('/'), [collection, ...(id === undefined ? [] : ['*']), ...rest].join('/')];
  if (!shapes.some((shape) => ABSENT.has(shape))) return notFound(path);
  return new Refusal(501, 'not_implemented', `${path} is not offered by this service: read the raw document instead`);
}

function notFound(path: string): Refusal {
  return new Refusal(404, 'not_found', `no resource at ${path}: paths start with /api/v1/traces, /episodes or /runs`);
}
